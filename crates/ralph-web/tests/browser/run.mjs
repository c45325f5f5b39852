// What a person sees in a real browser while a loop runs. Needs RALPH_BIN; see scripts/web-tests.sh.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { end, page, project, ralph, read, remove, serve, stop, until } from './lib.mjs';

const promises = [];
const promise = (name, check) => promises.push([name, check]);
const go = async (tab, address, pane) => { await tab.goto(`${address}#${pane}`); await tab.waitForSelector(`#main[data-pane=${pane.split('/')[0]}]`); };
const pending = (dir) => (existsSync(join(dir, '.ralph/control/commands.json')) ? JSON.parse(read(dir, '.ralph/control/commands.json')).pending : []);
// A loop that knows commands takes them out of the file; the journal then has them.
const journal = (dir) => read(dir, '.git/ralph/journal.jsonl').split('\0')[0];
const arrived = (dir, word) => until(() => pending(dir).some((c) => c.command === word) || journal(dir).includes(`"command":"${word}"`), `${word} to arrive`);
const eventIds = (tab) => tab.locator('#events [data-event]').evaluateAll((all) => all.map((e) => Number(e.dataset.event)));

promise('an empty project says what to do, and asks for nothing elsewhere', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link);
  for (const pane of ['now', 'plan', 'specs', 'memory', 'timeline', 'controls']) {
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
  const dir = project('300ms');
  const server = await serve(dir);
  const one = await page(server.link);
  const two = await page(server.address, { context: one.context() });
  await go(two, server.address, 'timeline');
  await one.evaluate(() => { window.untouched = true; });
  const loop = ralph(dir, 'build', '--json');
  await until(async () => /running/.test(await one.locator('#status').innerText()), 'running');
  await until(async () => (await one.locator('#stream .item').count()) > 2, 'the stream of the backend');
  await until(async () => (await one.locator('[data-attempt]').count()) >= 2, 'two attempts');
  // The second tab was behind: it says so when somebody looks at it again.
  await two.bringToFront();
  await until(async () => (await eventIds(two)).length > 5, 'events in the second tab');
  await until(() => loop.exitCode !== null, 'the loop to end', 120000);
  await one.bringToFront();
  await until(async () => /ended/.test(await one.locator('#status').innerText()), 'the end');
  assert.equal(await one.evaluate(() => window.untouched), true, 'the page was not loaded again');
  assert.match(await one.locator('.top').innerText(), /tasks\s+1[01] of 12/);
  for (const tab of [one, two]) assert.deepEqual([tab.complaints, tab.elsewhere], [[], []]);
  await stop(server.child);
  remove(dir);
});

promise('after a restart of the server no event is lost and none is there twice', async () => {
  const dir = project('300ms');
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
  const last = (await (await tab.request.get(`${again.address}api/events?limit=1`)).json()).last;
  await until(async () => Math.max(...await eventIds(tab)) === last, 'the last event');
  const ids = await eventIds(tab);
  assert.deepEqual(ids.slice().sort((a, b) => a - b), Array.from({ length: last }, (_, n) => n + 1));
  assert.deepEqual(tab.complaints, []);
  await stop(again.child);
  remove(dir);
});

promise('each control reaches the loop, and stop asks first', async () => {
  const dir = project('2s');
  const server = await serve(dir);
  const tab = await page(server.link);
  const loop = ralph(dir, 'build', '--json');
  await until(async () => /running/.test(await tab.locator('#status').innerText()), 'running');
  await go(tab, server.address, 'controls');
  for (const word of ['pause', 'resume']) { await tab.locator(`#do-${word}`).click(); await arrived(dir, word); }
  await tab.locator('#note').fill('do not touch the parser');
  await tab.locator('#do-note').click();
  await arrived(dir, 'inject-note');
  await tab.locator('#do-stop').click();
  await tab.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  assert.ok(!pending(dir).some((c) => c.command === 'stop'));
  await tab.locator('#do-stop').click();
  await tab.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await arrived(dir, 'stop');
  await go(tab, server.address, 'task/t-0012');
  await tab.getByRole('button', { name: 'Skip it' }).click();
  await arrived(dir, 'skip-task');
  assert.deepEqual(tab.complaints, []);
  await stop(loop);
  await stop(server.child);
  remove(dir);
});

promise('settings are written with their comments', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link);
  await go(tab, server.address, 'controls');
  await tab.locator('[id="set-mode"]').fill('handoff-plus-index');
  await tab.locator('tr', { has: tab.locator('[id="set-mode"]') }).getByRole('button').click();
  await until(() => read(dir, 'ralph.toml').includes('mode = "handoff-plus-index"   # memory'), 'the file');
  await tab.locator('[id="set-mode"]').fill('non sense');
  await tab.locator('tr', { has: tab.locator('[id="set-mode"]') }).getByRole('button').click();
  await tab.getByText('That did not work').waitFor();
  await stop(server.child);
  remove(dir);
});

promise('a spec is written with a preview, queued, moved and removed', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link);
  await go(tab, server.address, 'specs');
  const order = () => tab.locator('[data-inbox] td.grow').allInnerTexts();
  assert.deepEqual(await order(), ['units.md', 'history.md', 'export.md']);
  await tab.getByRole('button', { name: 'earlier: export.md' }).click();
  await until(async () => (await order())[1] === 'export.md', 'the new order');
  await tab.locator('#spec-name').fill('new.md');
  await tab.locator('#spec-text').fill('# New\n\n- [ ] it <b>works</b>');
  assert.match(await tab.locator('.md').innerText(), /☐ it <b>works<\/b>/);
  await tab.getByRole('button', { name: 'Write and queue' }).click();
  await until(() => read(dir, 'ralph/inbox.jsonl').includes('new.md'), 'the queue');
  await go(tab, server.address, 'now');
  await go(tab, server.address, 'specs');
  await tab.locator('[data-inbox]', { hasText: 'units.md' }).getByRole('button', { name: 'Remove' }).click();
  await until(async () => !(await order()).includes('units.md'), 'units.md to go');
  assert.deepEqual(tab.complaints, []);
  await stop(server.child);
  remove(dir);
});

promise('it is readable in the dark, on a phone and with the keyboard alone', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link, { colorScheme: 'dark', viewport: { width: 390, height: 800 } });
  const back = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(back.match(/\d+/g).slice(0, 3).every((n) => n < 60), back);
  for (const [key, pane] of [['2', 'plan'], ['3', 'specs'], ['4', 'memory'], ['5', 'timeline'], ['6', 'controls'], ['1', 'now']]) {
    await tab.keyboard.press(key);
    await tab.waitForSelector(`#main[data-pane=${pane}]`);
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${pane} is ${wide} px too wide`);
  }
  await stop(server.child);
  remove(dir);
});

let failed = 0;
const only = process.argv[2];
for (const [name, check] of promises.filter(([n]) => !only || n.includes(only))) {
  try { await check(); console.log(`ok - ${name}`); } catch (error) { failed += 1; console.log(`not ok - ${name}\n${error.stack}`); }
}
await end();
process.exit(failed ? 1 : 0);
