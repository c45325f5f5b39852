// Each control has its effect in a loop that runs, and what a person writes is kept.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { api, go, page, project, ralph, read, remove, serve, stop, until } from './lib.mjs';

const promises = [];
const promise = (name, check) => promises.push([name, check]);
const journal = (dir) => read(dir, '.git/ralph/journal.jsonl').split('\0')[0];
const status = (tab) => tab.locator('#status').innerText();
const attempts = async (tab, server) => (await api(tab, server, 'attempts?limit=500')).attempts;
const task = async (tab, server, id) => (await api(tab, server, `tasks/${id}`)).card.state;
// What follows happens within an attempt, however it falls.
const nextBegins = async (tab, server) => {
  const seen = (await attempts(tab, server)).length;
  await until(async () => (await attempts(tab, server)).length > seen, 'the next attempt');
};
const confirm = async (tab, name) => { await tab.getByRole('dialog').getByRole('button', { name }).click(); };
const row = (tab, key) => tab.locator('tr', { has: tab.locator(`[id="set-${key}"]`) });

async function running(pace) {
  const dir = project(pace);
  const server = await serve(dir);
  const tab = await page(server.link);
  const loop = ralph(dir, 'build', '--json');
  await until(async () => /running/.test(await status(tab)), 'the loop to run');
  await go(tab, server.address, 'controls');
  const close = async () => {
    assert.deepEqual([tab.complaints, tab.elsewhere], [[], []]);
    await stop(loop);
    await stop(server.child);
    await tab.context().close();
    remove(dir);
  };
  return { dir, server, tab, loop, close };
}

promise('pause: nothing new begins, and every tab says so; resume: it goes on', async () => {
  const { server, tab, close } = await running('250ms');
  const other = await page(server.address, { context: tab.context() });
  await tab.bringToFront();
  await tab.locator('#do-pause').click();
  await until(async () => /paused/.test(await status(tab)), 'paused');
  await until(async () => (await attempts(tab, server)).every((a) => a.result !== 'open'), 'the attempt to end');
  const before = (await attempts(tab, server)).length;
  await new Promise((r) => setTimeout(r, 1500));
  assert.equal((await attempts(tab, server)).length, before, 'nothing began');
  await other.bringToFront();
  await until(async () => /paused/.test(await status(other)), 'the other tab to say so');
  await go(other, server.address, 'controls');
  await other.locator('#do-resume').click();
  await until(async () => (await attempts(tab, server)).length > before, 'the next attempt');
  await tab.bringToFront();
  await until(async () => /running/.test(await status(tab)), 'the first tab to say so');
  assert.deepEqual(other.complaints, []);
  await close();
});

promise('a note is in the next prompt, and in no other', async () => {
  const { server, tab, close } = await running('250ms');
  await tab.locator('#note').fill('do not touch the parser');
  await tab.locator('#do-note').click();
  await tab.getByText('the next prompt has it').waitFor();
  assert.equal(await tab.locator('#note').inputValue(), '');
  // Counted from here: while the note was typed, a loaded machine may have made several attempts.
  const seen = (await attempts(tab, server)).length;
  await until(async () => (await attempts(tab, server)).length >= seen + 3, 'three more attempts');
  const told = [];
  for (const a of (await attempts(tab, server)).reverse()) {
    const { text } = await api(tab, server, `attempts/${a.attempt}/prompt`);
    told.push(Boolean(text && text.includes('do not touch the parser')));
  }
  assert.equal(told.filter(Boolean).length, 1, JSON.stringify(told));
  await close();
});

promise('kill attempt asks first, ends it, counts nothing, and the loop goes on', async () => {
  const { server, tab, close } = await running('20s');
  await until(async () => (await attempts(tab, server)).length === 1, 'an attempt');
  const [first] = await attempts(tab, server);
  await tab.locator('#do-kill-attempt').click();
  await confirm(tab, 'Cancel');
  assert.equal((await attempts(tab, server))[0].result, 'open');
  await tab.locator('#do-kill-attempt').click();
  await confirm(tab, 'Kill attempt');
  const ended = await until(async () => (await attempts(tab, server)).find((a) => a.attempt === first.attempt && a.result !== 'open'), 'its end');
  assert.equal(ended.failure?.kind, 'interrupted', JSON.stringify(ended));
  const next = await until(async () => (await attempts(tab, server)).find((a) => a.attempt !== first.attempt), 'the next attempt');
  assert.deepEqual([next.task_id, next.retry], [first.task_id, 0], 'nothing was counted');
  await close();
});

promise('skip leaves a task out and retry brings it back, while the loop runs', async () => {
  const { server, tab, dir, close } = await running('1s');
  await go(tab, server.address, 'task/t-0012');
  await tab.getByRole('button', { name: 'Skip it' }).click();
  await until(async () => (await task(tab, server, 't-0012')) === 'skipped', 'the plan to say so');
  await until(async () => /skipped/.test(await tab.locator('main').innerText()), 'the page to say so');
  await tab.getByRole('button', { name: 'Try it again' }).click();
  await until(async () => (await task(tab, server, 't-0012')) === 'pending', 'the plan to say so');
  assert.ok(journal(dir).includes('retry-task'));
  await close();
});

promise('stop asks first, and ends the loop after its attempt', async () => {
  const { server, tab, loop, close } = await running('1s');
  await tab.locator('#do-stop').click();
  await tab.keyboard.press('Escape');
  await new Promise((r) => setTimeout(r, 300));
  assert.equal(loop.exitCode, null);
  await nextBegins(tab, server);
  await tab.locator('#do-stop').click();
  await confirm(tab, 'Stop');
  await tab.getByText('It ends after what runs now.').first().waitFor();
  await until(() => loop.exitCode !== null, 'the loop to end');
  assert.equal(loop.exitCode, 4);
  assert.ok((await attempts(tab, server)).every((a) => !['open', 'ended'].includes(a.result)), 'the attempt came to its end');
  await until(async () => /stopped|ended/.test(await status(tab)), 'the page to say so');
  await until(() => tab.locator('#do-stop').isDisabled(), 'nothing more to stop');
  await close();
});

promise('a setting reaches the loop that runs, and ralph.toml keeps its comments', async () => {
  const { server, tab, dir, loop, close } = await running('300ms');
  await tab.locator('[id="set-mode"]').selectOption('handoff-plus-index');
  await row(tab, 'mode').getByRole('button').click();
  await until(() => read(dir, 'ralph.toml').includes('mode = "handoff-plus-index"   # memory'), 'the file');
  await tab.locator('[id="set-max_turns"]').fill('17');
  await row(tab, 'max_turns').getByRole('button').click();
  await until(() => read(dir, 'ralph.toml').includes('max_turns = 17'), 'the file');
  assert.match(read(dir, 'ralph.toml'), /^# Settings of the calculator\. Comments stay/);
  assert.ok(journal(dir).includes('set-setting'), 'the loop did it');
  assert.equal(loop.exitCode, null, 'and it runs on');
  await close();
});

promise('settings that are not listed, and values that are no words, change nothing', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link);
  await go(tab, server.address, 'controls');
  const before = read(dir, 'ralph.toml');
  await tab.locator('[id="set-min_delay"]').fill('non sense');
  await row(tab, 'min_delay').getByRole('button').click();
  await tab.getByText('That did not work').first().waitFor();
  const refused = await tab.evaluate(async () => {
    const send = (body) => fetch('/api/settings', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const bodies = [{ backend: 'x' }, { gates: 'x' }, { RALPH_VALIDATION_COMMANDS: 'x' }, { mode: '"; rm' }, { mode: 'handoff-only', redact: 'x' }, { max_turns: '1\nbackend=1' }];
    return Promise.all(bodies.map(async (body) => (await send(body)).status));
  });
  assert.deepEqual(refused, [400, 400, 400, 400, 400, 400]);
  assert.equal(read(dir, 'ralph.toml'), before);
  await tab.locator('[id="set-mode"]').selectOption('handoff-plus-index');
  await row(tab, 'mode').getByRole('button').click();
  await until(() => read(dir, 'ralph.toml') === before.replace('"handoff-only"', '"handoff-plus-index"'), 'only that word to change');
  await stop(server.child);
  remove(dir);
});

promise('a spec is written with a preview, queued, moved and removed', async () => {
  const dir = project();
  const server = await serve(dir);
  const tab = await page(server.link);
  await go(tab, server.address, 'specs');
  const order = () => tab.locator('[data-inbox] td.grow').allInnerTexts();
  const file = () => read(dir, 'ralph/inbox.jsonl').trim().split('\n').map((line) => JSON.parse(line).spec);
  assert.deepEqual(await order(), ['units.md', 'history.md', 'export.md']);
  await tab.getByRole('button', { name: 'earlier: export.md' }).click();
  await until(async () => (await order())[1] === 'export.md', 'the new order');
  assert.deepEqual(file(), ['units.md', 'export.md', 'history.md'], 'the file has it too');
  await tab.locator('#spec-name').fill('new.md');
  await tab.locator('#spec-text').fill('# New\n\n- [ ] it <b>works</b>');
  assert.match(await tab.locator('.md').innerText(), /☐ it <b>works<\/b>/);
  await tab.getByRole('button', { name: 'Write and queue' }).click();
  await until(() => file().includes('new.md'), 'the queue');
  await until(async () => (await order()).includes('new.md'), 'the page to show it');
  await tab.locator('[data-inbox]', { hasText: 'units.md' }).getByRole('button', { name: 'Remove' }).click();
  await until(async () => !(await order()).includes('units.md'), 'units.md to go');
  assert.ok(!file().includes('units.md'));
  assert.deepEqual(tab.complaints, []);
  await stop(server.child);
  remove(dir);
});

promise('a spec that is written while an attempt runs is queued at once, and stays when the attempt is killed', async () => {
  const { dir, server, tab, close } = await running('1s');
  await go(tab, server.address, 'specs');
  await tab.locator('#spec-name').fill('while.md');
  await tab.locator('#spec-text').fill('# Written meanwhile\n\n- [ ] it stays');
  await nextBegins(tab, server);
  await tab.getByRole('button', { name: 'Write and queue' }).click();
  await until(() => read(dir, 'ralph/inbox.jsonl').includes('while.md'), 'the queue');
  await until(async () => (await tab.locator('main').innerText()).includes('while.md'), 'the page to show it');
  await go(tab, server.address, 'controls');
  const before = (await attempts(tab, server)).length;
  await until(async () => (await attempts(tab, server)).length > before, 'the next attempt');
  const [next] = await attempts(tab, server);
  await tab.locator('#do-kill-attempt').click();
  await confirm(tab, 'Kill attempt');
  await until(async () => (await attempts(tab, server)).some((a) => a.attempt === next.attempt && a.result !== 'open'), 'the rollback');
  await until(async () => (await attempts(tab, server)).length > before + 1, 'one more attempt');
  assert.match(read(dir, 'ralph/specs/while.md'), /Written meanwhile/);
  assert.equal(read(dir, 'ralph/inbox.jsonl').split('while.md').length, 2, 'it is queued once');
  await close();
});

promise('a damaged file is told with its line, and the rest still works', async () => {
  const dir = project();
  writeFileSync(join(dir, 'ralph/plan.jsonl'), '{"t":"task"\n');
  const server = await serve(dir);
  const tab = await page(server.link);
  await until(async () => /plan\.jsonl:1/.test(await tab.locator('.problem').first().innerText()), 'the line');
  await go(tab, server.address, 'specs');
  assert.equal(await tab.locator('[data-inbox]').count(), 3);
  await go(tab, server.address, 'task/nothing');
  assert.match(await tab.locator('.problem').innerText(), /no task has that id/);
  await stop(server.child);
  remove(dir);
});

export default promises;
