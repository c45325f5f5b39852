// What is shown: live, after a restart, in the dark, on a phone, and with very much of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { api, go, page, project, ralph, read, remove, serve, stop, until } from './lib.mjs';

const PANES = ['now', 'plan', 'specs', 'memory', 'timeline', 'controls'];
const promises = [];
const promise = (name, check) => promises.push([name, check]);
const eventIds = (tab) => tab.locator('#events [data-event]').evaluateAll((all) => all.map((e) => Number(e.dataset.event)));

promise('an empty project says what to do, and asks for nothing elsewhere', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link);
  for (const pane of PANES) {
    await go(tab, server.address, pane);
    assert.ok((await tab.locator('main').innerText()).length > 40, pane);
    assert.equal(await tab.locator('.problem').count(), 0, pane);
  }
  assert.ok(!tab.url().includes('token'), 'the token does not stay in the address');
  assert.deepEqual([tab.complaints, tab.elsewhere], [[], []]);
  await stop(server.child);
  remove(dir);
});

promise('a running loop is shown live, without a reload, in two tabs', async () => {
  const dir = project('150ms');
  const server = await serve(dir);
  const one = await page(server.link);
  const two = await page(server.address, { context: one.context() });
  await go(two, server.address, 'timeline');
  await one.bringToFront();
  await one.evaluate(() => { window.untouched = true; });
  const loop = ralph(dir, 'build', '--json');
  await until(async () => /running/.test(await one.locator('#status').innerText()), 'running');
  await until(async () => (await one.locator('#stream .item').count()) > 2, 'the stream of the backend');
  await until(async () => (await one.locator('[data-attempt]').count()) >= 2, 'two attempts');
  const followed = () => one.evaluate(() => { const box = document.getElementById('stream'); return box.scrollHeight > box.clientHeight + 200 && atEnd(box); });
  await until(followed, 'the end of the stream to be in sight, however long it is');
  // The second tab was behind: it says so when somebody looks at it again.
  await two.bringToFront();
  await until(async () => (await eventIds(two)).length > 5, 'events in the second tab');
  await until(() => loop.exitCode !== null, 'the loop to end', 120000);
  await one.bringToFront();
  await until(async () => /ended/.test(await one.locator('#status').innerText()), 'the end');
  assert.equal(await one.evaluate(() => window.untouched), true, 'the page was not loaded again');
  await until(async () => /1[01] of 12/.test(await one.locator('.top').innerText()), 'what is done');
  for (const tab of [one, two]) assert.deepEqual([tab.complaints, tab.elsewhere], [[], []]);
  await stop(server.child);
  remove(dir);
});

promise('gates are shown as they run: which one does, and which one waits for it', async () => {
  const dir = project('50ms');
  writeFileSync(join(dir, 'ralph.toml'), read(dir, 'ralph.toml').replaceAll('command = "', 'command = "sleep 2; '));
  execFileSync('git', ['commit', '-qam', 'Slow gates'], { cwd: dir });
  const server = await serve(dir);
  const tab = await page(server.link);
  const loop = ralph(dir, 'build', '--json');
  const row = (name) => tab.locator('tr', { has: tab.getByRole('cell', { name, exact: true }) }).first().innerText();
  const shows = (test, lint) => until(async () => test.test(await row('test')) && lint.test(await row('lint')), `test ${test}, lint ${lint}`);
  await shows(/running/, /waits/);
  await shows(/green/, /running/);
  assert.deepEqual(tab.complaints, []);
  await stop(loop);
  await stop(server.child);
  remove(dir);
});

promise('after a restart of the server no event is lost and none is there twice', async () => {
  const dir = project('150ms');
  const server = await serve(dir);
  const tab = await page(server.link);
  await go(tab, server.address, 'timeline');
  const loop = ralph(dir, 'build', '--json');
  await until(async () => (await eventIds(tab)).length > 4, 'some events');
  await stop(server.child);
  await until(async () => /not connected/.test(await tab.locator('#link').innerText()), 'the page to notice');
  await new Promise((r) => setTimeout(r, 1500));
  const again = await serve(dir, server.port);
  await until(async () => /live/.test(await tab.locator('#link').innerText()), 'the page to come back');
  await until(() => loop.exitCode !== null, 'the loop to end', 120000);
  const { last } = await api(tab, again, 'events?limit=1');
  await until(async () => Math.max(...await eventIds(tab)) === last, 'the last event');
  const ids = await eventIds(tab);
  assert.deepEqual(ids.slice().sort((a, b) => a - b), Array.from({ length: last }, (_, n) => n + 1));
  assert.deepEqual(tab.complaints, []);
  await stop(again.child);
  remove(dir);
});

promise('dark and light follow the system, and a choice is kept', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link, { colorScheme: 'dark' });
  const shade = async () => (await tab.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g).slice(0, 3).map(Number);
  assert.ok((await shade()).every((n) => n < 60), 'dark');
  await tab.emulateMedia({ colorScheme: 'light' });
  assert.ok((await shade()).every((n) => n > 200), 'light');
  await tab.keyboard.press('t');
  assert.ok((await shade()).every((n) => n < 60), 'chosen');
  await tab.reload();
  await tab.waitForSelector('#main[data-pane]');
  assert.ok((await shade()).every((n) => n < 60), 'kept');
  await stop(server.child);
  remove(dir);
});

promise('a phone shows every pane without scrolling sideways, and keys reach them all', async () => {
  const dir = project('150ms');
  const server = await serve(dir);
  const loop = ralph(dir, 'build', '--json');
  const tab = await page(server.link, { colorScheme: 'dark', viewport: { width: 360, height: 760 }, hasTouch: true });
  await until(async () => (await api(tab, server, 'attempts')).attempts.length > 3, 'something to show');
  await stop(loop);
  const { attempts: [some] } = await api(tab, server, 'attempts?task=t-0001');
  const narrow = async (pane) => {
    await tab.waitForSelector(`#main[data-pane=${pane}]`);
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${pane} is ${wide} px too wide`);
  };
  for (const [key, pane] of [['2', 'plan'], ['3', 'specs'], ['4', 'memory'], ['5', 'timeline'], ['6', 'controls'], ['1', 'now']]) {
    await tab.keyboard.press(key);
    await narrow(pane);
  }
  for (const pane of ['task/t-0001', `attempt/${some.attempt}`, 'spec/calc.md']) {
    await go(tab, server.address, pane);
    await narrow(pane.split('/')[0]);
  }
  assert.deepEqual([tab.complaints, tab.elsewhere], [[], []]);
  await stop(server.child);
  remove(dir);
});

promise('a thousand tasks are all there, on the board and in the list', async () => {
  const dir = project();
  const line = (n) => JSON.stringify({ t: 'task', id: `t-${String(n).padStart(4, '0')}`, name: `Task number ${n}`, s: 'p', accept: '`true` passes', ...(n > 1 ? { deps: [`t-${String(Math.floor(n / 2)).padStart(4, '0')}`] } : {}) });
  writeFileSync(join(dir, 'ralph/plan.jsonl'), `${Array.from({ length: 1000 }, (_, n) => line(n + 1)).join('\n')}\n`);
  const server = await serve(dir);
  const tab = await page(server.link);
  await go(tab, server.address, 'plan');
  await until(async () => (await tab.locator('[data-task]').count()) === 1000, 'all of them on the board');
  await tab.getByRole('button', { name: 'list' }).click();
  await until(async () => (await tab.locator('tr[data-task]').count()) === 1000, 'all of them in the list');
  await tab.getByRole('button', { name: 'graph' }).click();
  await tab.getByText('tasks are left out').waitFor();
  assert.deepEqual(tab.complaints, []);
  await stop(server.child);
  remove(dir);
});

export default promises;
