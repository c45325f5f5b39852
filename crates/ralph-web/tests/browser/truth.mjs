// The page never claims more than is so: a silent server, a killed loop, failed work, an empty project.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RALPH, api, go, page, project, ralph, remove, serve, stop, until } from './lib.mjs';

const promises = [];
const promise = (name, check) => promises.push([name, check]);
const main = (tab) => tab.locator('main').innerText();
const tile = (tab, title) => tab.locator('.tile', { has: tab.getByRole('heading', { name: title, exact: true }) });

// A repository with these files and nothing else.
function bare(files) {
  const dir = join(mkdtempSync(join(tmpdir(), 'ralph-web-')), 'bare');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  const git = (...args) => execFileSync('git', args, { cwd: dir });
  git('init', '-q', '-b', 'main', '.');
  git('config', 'user.name', 'Tess');
  git('config', 'user.email', 'tess@example.com');
  git('add', '-A');
  git('commit', '-qm', 'Begin');
  return dir;
}

promise('a server that does not answer is told, and clocks stop until it does', async () => {
  const dir = project('5s');
  const server = await serve(dir);
  const tab = await page(server.link);
  const loop = ralph(dir, 'build', '--json');
  await until(async () => (await tab.locator('[data-since]').count()) > 0, 'a clock');
  await until(async () => /Parse whole numbers/.test(await main(tab)), 'the task');
  assert.ok(await tab.evaluate(() => link.limit + 1000) < 10000, 'told within 10 seconds');
  server.child.kill('SIGSTOP');
  try {
    await tab.getByRole('alert').getByText('The server does not answer.').waitFor({ timeout: 60000 });
    assert.match(await tab.locator('#link').innerText(), /no answer/);
    assert.ok(!(await tab.title()).includes('▶'));
    const clocks = () => tab.locator('[data-since]').allInnerTexts();
    const then = await clocks();
    await tab.evaluate(() => { tick(); tick(); });
    await tab.waitForTimeout(2100);
    assert.deepEqual(await clocks(), then, 'no clock runs on');
    assert.match(await main(tab), /Parse whole numbers/, 'what was known is still there');
  } finally {
    server.child.kill('SIGCONT');
  }
  await until(async () => /live/.test(await tab.locator('#link').innerText()), 'the page to come back', 60000);
  assert.ok(await tab.locator('#silence').isHidden());
  assert.deepEqual(tab.complaints, []);
  await stop(loop);
  await stop(server.child);
  remove(dir);
});

promise('after kill -9 of the loop every page says crashed, and nothing seems to go on', async () => {
  const dir = project('4s');
  const server = await serve(dir);
  const tab = await page(server.link);
  const loop = ralph(dir, 'build', '--json');
  await until(async () => (await tab.locator('#stream .item').count()) > 1, 'the backend');
  const { attempt } = await api(tab, server, 'state');
  loop.kill('SIGKILL');
  await until(async () => /crashed/.test(await tab.locator('#status').innerText()), 'the page to notice', 60000);
  const panes = ['now', 'plan', `task/${attempt.task_id}`, `attempt/${attempt.attempt}`, 'timeline', 'specs', 'controls'];
  const quiet = async (name) => {
    const text = await main(tab);
    assert.doesNotMatch(text, /\bLive\b|under way|\brunning\b|elapsed|goes on by itself/i, name);
    assert.equal(await tab.locator('[data-since]').count(), 0, `${name} has a clock`);
    return text;
  };
  for (const pane of panes) {
    await go(tab, server.address, pane);
    const text = await quiet(pane);
    if (!/timeline|specs/.test(pane)) assert.match(text, /crash/i, pane);
  }
  await go(tab, server.address, 'plan');
  for (const view of ['graph', 'list', 'board']) {
    await tab.getByRole('button', { name: view }).click();
    await tab.locator('button[aria-pressed=true]', { hasText: view }).waitFor();
    assert.match(await quiet(view), /crashed/, view);
  }
  await go(tab, server.address, 'now');
  assert.match(await main(tab), /→ ralph build /, 'and what to do about it');
  assert.ok(!(await tab.title()).includes('▶'));
  assert.deepEqual(tab.complaints, []);
  await stop(server.child);
  remove(dir);
});

promise('a stopped run with failed work is not shown as if all were well', async () => {
  const dir = bare({
    'ralph.toml': 'backend = "sim"\n[[gates]]\nname = "test"\ncommand = "test ! -f bad"\n',
    'ralph/plan.jsonl': '{"t":"task","id":"t-0001","name":"Break it","s":"p","accept":"x"}\n',
    '.gitignore': '/scenario.toml\n/build/\n/.ralph/\n',
    'scenario.toml': '[[rule]]\nsteps = [ { write = "bad", text = "x\\n" }, { claim = "done" } ]\n',
  });
  const server = await serve(dir);
  const tab = await page(server.link);
  const loop = ralph(dir, 'build', '--json', '--max-iterations', '1');
  await until(() => loop.exitCode !== null, 'the loop to end', 60000);
  await until(async () => /ended/.test(await tab.locator('#status').innerText()), 'the page to say so');
  await until(async () => /failed/.test(await main(tab)), 'the failed attempt');
  const needs = tile(tab, 'Needs you');
  await needs.waitFor();
  assert.equal(await needs.locator('.big.good').count(), 0, await needs.innerText());
  assert.doesNotMatch(await main(tab), /goes on by itself|Nothing to do|undefined/);
  await stop(server.child);
  remove(dir);
});

promise('an empty project has no tasks, and is not complete', async () => {
  const dir = bare({ 'ralph.toml': 'backend = "sim"\n' });
  const server = await serve(dir);
  const tab = await page(server.link);
  await tab.locator('main').getByText('No tasks', { exact: true }).waitFor();
  assert.match(await tab.locator('.top').innerText(), /No tasks/);
  assert.doesNotMatch(await tab.locator('body').innerText(), /COMPLETE|0 of 0|nothing is left/i);
  await go(tab, server.address, 'plan');
  assert.doesNotMatch(await tab.locator('body').innerText(), /COMPLETE|0 of 0/i);
  await stop(server.child);
  remove(dir);
});

promise('a handoff is shown as a person reads it, wherever an agent says it', async () => {
  const handoff = 'handoff = { summary = "The parser reads numbers", freeform = "Numbers are read digit by digit; signs are next, and they bind tighter than products.", deviations = [{ planned = "one file", actual = "two files", reason = "it grew" }], bugs_encountered = [{ description = "an empty text", resolution = "refused", resolved = true }], tests_added = [{ file = "tests/n.rs", test_names = ["reads_one"] }] }';
  const dir = bare({
    'ralph.toml': 'backend = "sim"\n[[gates]]\nname = "test"\ncommand = "true"\n',
    'ralph/plan.jsonl': '{"t":"task","id":"t-0001","name":"Parse","s":"p","accept":"x"}\n',
    '.gitignore': '/scenario.toml\n/build/\n/.ralph/\n',
    'scenario.toml': `[[rule]]\nsteps = [ { say = "I begin with the digits. " }, { write = "n.rs", text = "x\\n" }, { claim = "done", ${handoff} } ]\n`,
  });
  const loop = ralph(dir, 'build', '--json');
  await until(() => loop.exitCode !== null, 'the loop to end', 60000);
  const server = await serve(dir);
  const tab = await page(server.link);
  const { attempts: [row] } = await api(tab, server, 'attempts');
  await tab.locator('#stream .handoff').waitFor();
  const look = async (where, box) => {
    const text = await box.innerText();
    for (const words of [/The parser reads numbers/, /digit by digit/, /one file → two files: it grew/, /an empty text: refused/, /reads_one/]) assert.match(text, words, where);
    assert.doesNotMatch(await main(tab), /task_completed|\{\s*"/, where);
  };
  await look('now', tab.locator('#stream'));
  assert.match(await tab.locator('#stream').innerText(), /I begin with the digits\./);
  await go(tab, server.address, `attempt/${row.attempt}`);
  await tab.locator('.handoff').waitFor();
  await look('the output of the attempt', tab.locator('main'));
  await tab.getByRole('button', { name: 'handoff' }).click();
  await tab.locator('button[aria-pressed=true]', { hasText: 'handoff' }).waitFor();
  await look('the handoff of the attempt', tab.locator('main'));
  await go(tab, server.address, 'memory');
  await look('memory', tab.locator('main'));
  await stop(server.child);
  remove(dir);
});

promise('an agent says which spec of how many it is at, and what planner and verifier do', async () => {
  const specs = ['one', 'two', 'three'];
  // The verifier stands in a lane, so it waits for a file by its whole path.
  const goOn = join(mkdtempSync(join(tmpdir(), 'ralph-truth-')), 'go-on');
  const scenario = (planned) => `[[rule]]\nwhen = ["turn a spec into a plan"]\nsteps = [ { say = "I read the spec first." }, ${planned} ]
[[rule]]\nwhen = ["You verify one task"]\nsteps = [ { say = "I look at the work." }, { run = "until test -f ${goOn}; do sleep 0.1; done" }, { answer = { task_id = "{task}", verdict = "accept", reason = "it is there" } } ]
[[rule]]\nwhen = ["All tasks of a plan are claimed to be done"]\nsteps = [ { answer = { satisfied = true, reason = "all of it" } } ]
[[rule]]\nsteps = [ { write = "work/{task}.txt", text = "done\\n" }, { claim = "done" } ]\n`;
  const files = {
    'ralph.toml': 'backend = "sim"\n[[gates]]\nname = "test"\ncommand = "true"\n',
    '.gitignore': '/scenario.toml\n/build/\n/.ralph/\n',
    'scenario.toml': scenario('{ hang = true }'),
  };
  for (const spec of specs) files[`ralph/specs/${spec}.md`] = `# ${spec}\n\n- [ ] it works\n`;
  const dir = bare(files);
  for (const spec of specs) execFileSync(RALPH, ['inbox', 'add', `${spec}.md`], { cwd: dir });
  const server = await serve(dir);
  const tab = await page(server.link);
  let agent = ralph(dir, 'agent', '--json');
  const says = (what, ...words) => until(async () => { const text = `${await tab.locator('.top').innerText()}\n${await main(tab)}`; return words.every((word) => word.test(text)); }, what, 60000);
  await says('the planner', /spec 1 of 3/i, /Planner: one\.md/, /Live/, /I read the spec first\./);
  agent.kill('SIGKILL');
  await says('the crash', /crashed/, /spec 1 of 3/i);
  writeFileSync(join(dir, 'scenario.toml'), scenario('{ answer = { tasks = [{ key = "a", name = "Write it", accept = ["x"] }] } }'));
  agent = ralph(dir, 'agent', '--json');
  await says('the verifier', /spec 1 of 3/i, /Verifier: t-/, /I look at the work\./, /new t-/);
  writeFileSync(goOn, '');
  await until(() => agent.exitCode !== null, 'the agent to end', 60000);
  await says('the end', /spec 3 of 3/i, /accepted/);
  assert.deepEqual([tab.complaints, tab.elsewhere], [[], []]);
  await stop(server.child);
  remove(goOn);
  remove(dir);
});

export default promises;
