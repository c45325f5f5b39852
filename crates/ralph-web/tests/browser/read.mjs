// A person reads and types while a loop runs: nothing is taken out of their hands.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { api, go, page, project, ralph, read, remove, serve, stop, until } from './lib.mjs';

const promises = [];
const promise = (name, check) => promises.push([name, check]);
// How long each pane is read, beside 20 events a second; a minute in the long mode.
const SECONDS = Number(process.env.RALPH_READ_SECONDS || 3);

// A project with so many tasks that its loop runs on for minutes.
function long() {
  const dir = project('20ms');
  const id = (n) => `t-${String(n).padStart(4, '0')}`;
  const line = (n) => JSON.stringify({ t: 'task', id: id(n), spec: 'calc.md', name: `Task number ${n}`, s: 'p', accept: '`true` passes' });
  writeFileSync(join(dir, 'ralph/plan.jsonl'), `{"t":"spec","spec":"calc.md"}\n${Array.from({ length: 600 }, (_, n) => line(n + 1)).join('\n')}\n`);
  writeFileSync(join(dir, 'ralph.toml'), read(dir, 'ralph.toml').replace('max_cost = 2.0', 'max_cost = 2000.0'));
  const step = '{ say = "A word about {task}. " }, { sleep = "50ms" }, { run = "sh test.sh" }, { sleep = "50ms" }';
  writeFileSync(join(dir, 'scenario.toml'), `[[rule]]\nsteps = [ ${Array(4).fill(step).join(', ')}, { append = "src/lib.rs", text = "// {task}\\n" }, { claim = "done" } ]\n`);
  execFileSync('git', ['commit', '-qam', 'Very many tasks'], { cwd: dir });
  return dir;
}

// What a person would notice: what has the focus, what is selected, where everything is scrolled to.
const noticed = (tab) => tab.evaluate(() => ({
  focus: window.mine.focus ? document.activeElement === window.mine.focus : null,
  shown: window.mine.nodes.map((node) => node.isConnected),
  open: window.mine.nodes.filter((node) => node.matches('details')).map((node) => node.open),
  selected: String(window.getSelection()),
  typed: [...document.querySelectorAll('input, textarea, select')].map((field) => [field.id, field.value, field.selectionStart]),
}));

// Where on the screen what a person looks at is; scrolled boxes are not exact to the pixel.
const places = (tab) => tab.evaluate(() => (window.mine.still || []).map((node) => node.getBoundingClientRect().top));

// Read for a while beside 20 events a second: at every look all is as it was.
async function reading(tab, pane) {
  const drawn = () => tab.evaluate(() => window.drawn);
  await tab.evaluate(() => {
    window.drawn = 0;
    new MutationObserver(() => { window.drawn += 1; }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    window.events = window.events || setInterval(() => source.dispatchEvent(new MessageEvent('changed', { data: '{}' })), 50);
  });
  const [before, tops] = [await noticed(tab), await places(tab)];
  assert.ok(before.shown.every(Boolean), pane);
  const end = Date.now() + SECONDS * 1000;
  do {
    assert.deepEqual(await noticed(tab), before, pane);
    (await places(tab)).forEach((top, n) => assert.ok(Math.abs(top - tops[n]) < 3, `${pane}: ${top} instead of ${tops[n]}`));
    await new Promise((r) => setTimeout(r, 50));
  } while (Date.now() < end || await drawn() < 3);
}

promise('focus, selection, scroll, opened parts and typed text outlive 20 events a second', async () => {
  const dir = long();
  const server = await serve(dir);
  const tab = await page(server.link);
  const loop = ralph(dir, 'build', '--json', '--max-iterations', '5000');
  await until(async () => (await tab.locator('#stream details').count()) > 5, 'tool calls');
  await tab.evaluate(() => {
    const opened = document.querySelectorAll('#stream details')[3];
    opened.querySelector('summary').click();
    opened.querySelector('summary').focus();
    document.getElementById('stream').scrollTop = opened.offsetTop - document.getElementById('stream').offsetTop - 40;
    getSelection().selectAllChildren(document.querySelectorAll('#stream .says')[2]);
    window.mine = { focus: opened.querySelector('summary'), nodes: [opened], still: [opened] };
  });
  await reading(tab, 'now');

  await go(tab, server.address, 'timeline');
  await until(async () => (await tab.locator('#events [data-event]').count()) > 60, 'events');
  await tab.evaluate(() => {
    const box = document.getElementById('events');
    const event = box.querySelectorAll('[data-event]')[40];
    box.scrollIntoView({ block: 'start' });
    box.scrollTop = event.offsetTop - box.offsetTop;
    getSelection().selectAllChildren(event.querySelector('code'));
    box.focus({ preventScroll: true });
    window.mine = { focus: box, nodes: [box, event], still: [event] };
  });
  await reading(tab, 'timeline');

  await go(tab, server.address, 'memory');
  await tab.locator('details').nth(2).locator('summary').click();
  await tab.evaluate(() => {
    const opened = document.querySelectorAll('details')[2];
    window.mine = { focus: opened.querySelector('summary'), nodes: [opened] };
    window.mine.focus.focus();
    getSelection().selectAllChildren(opened.querySelector('p'));
  });
  await reading(tab, 'memory');

  await go(tab, server.address, 'specs');
  await tab.locator('#spec-name').fill('half-writ');
  await tab.locator('#spec-text').fill('# Half written\n\n- [ ] it <b>stays</b>');
  await tab.locator('#spec-text').press('ArrowLeft');
  await tab.evaluate(() => { window.mine = { focus: document.getElementById('spec-text'), nodes: [document.getElementById('spec-preview')] }; });
  await reading(tab, 'specs');
  assert.match(await tab.locator('#spec-preview').innerText(), /☐ it <b>stays<\/b>/);

  await go(tab, server.address, 'controls');
  await tab.locator('[id="set-mode"]').selectOption('handoff-plus-index');
  await tab.locator('[id="set-max_turns"]').fill('17');
  await tab.locator('#note').fill('half a note');
  await tab.evaluate(() => { window.mine = { focus: document.getElementById('note'), nodes: [document.getElementById('do-pause')] }; });
  await reading(tab, 'controls');

  assert.equal(loop.exitCode, null, loop.text.slice(-500));
  assert.deepEqual([tab.complaints, tab.elsewhere], [[], []]);
  await stop(loop);
  await stop(server.child);
  remove(dir);
});

promise('a word as long as a line widens no page of a phone', async () => {
  const word = 'unbreakable'.repeat(12);
  const dir = project('20ms');
  const spec = `${'long-name-'.repeat(11)}.md`;
  writeFileSync(join(dir, 'ralph/specs', spec), `# ${word}\n\n${word}\n\n- [ ] ${word}\n\n\`\`\`\n${word}\n\`\`\`\n`);
  const task = (id, more) => JSON.stringify({ t: 'task', id, spec: 'calc.md', name: word, notes: word, accept: word, s: 'p', ...more });
  writeFileSync(join(dir, 'ralph/plan.jsonl'), ['{"t":"spec","spec":"calc.md"}', task('t-0001'), task('t-0002', { deps: ['t-0001'] }), task('t-0003', { blocked: word })].join('\n') + '\n');
  writeFileSync(join(dir, 'ralph.toml'), read(dir, 'ralph.toml').replace('command = "sh test.sh"', `command = "echo ${word}; test ! -f src/bad.rs"`));
  writeFileSync(join(dir, 'scenario.toml'), [
    `[[rule]]\ntask = "t-0001"\nsteps = [ { think = "${word}" }, { say = "${word}" }, { run = "echo ${word}" }, { append = "src/lib.rs", text = "// ${word}\\n" }, { claim = "done", handoff = { summary = "${word}", freeform = "${word}" } } ]`,
    `[[rule]]\ntask = "t-0002"\nsteps = [ { write = "src/bad.rs", text = "${word}\\n" }, { claim = "done" } ]\n`].join('\n'));
  execFileSync('git', ['add', '-A'], { cwd: dir });
  execFileSync('git', ['commit', '-qm', word], { cwd: dir });
  execFileSync(process.env.RALPH_BIN, ['inbox', 'add', spec], { cwd: dir });
  const server = await serve(dir);
  const loop = ralph(dir, 'build', '--json');
  await until(() => loop.exitCode !== null, 'the loop to end', 120000);
  const tab = await page(server.link, { viewport: { width: 360, height: 740 }, hasTouch: true });
  const { attempts } = await api(tab, server, 'attempts');
  const narrow = async (name) => {
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
  };
  for (const pane of ['now', 'plan', 'specs', 'memory', 'timeline', 'controls', 'task/t-0001', 'task/t-0002', 'task/t-0003', `spec/${spec}`]) {
    await go(tab, server.address, pane);
    await narrow(pane);
  }
  await go(tab, server.address, 'plan');
  for (const view of ['graph', 'list', 'board']) {
    await tab.getByRole('button', { name: view }).click();
    await tab.locator(`button[aria-pressed=true]`, { hasText: view }).waitFor();
    await narrow(`plan as ${view}`);
  }
  for (const row of [attempts[0], attempts[attempts.length - 1]]) {
    await go(tab, server.address, `attempt/${row.attempt}`);
    for (const part of ['stream', 'gates', 'diff', 'prompt', 'handoff']) {
      await tab.getByRole('button', { name: part }).click();
      await tab.locator(`button[aria-pressed=true]`, { hasText: part }).waitFor();
      await tab.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
      await narrow(`${part} of an attempt`);
    }
  }
  assert.deepEqual(tab.complaints, []);
  await stop(server.child);
  remove(dir);
});

export default promises;
