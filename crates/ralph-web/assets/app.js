// The dashboard's page. It shows what /api tells and asks again when an event says that something
// changed; what it knows of the past it loads by the page, so that a long history costs nothing. Each
// pane is drawn as if it were new, and patch.js shows what differs.
'use strict';

// ---- small tools -----------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);

function h(tag, attrs, ...children) {
  const node = document.createElement(tag);
  put(node, attrs, children);
  return node;
}

function s(tag, attrs, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  put(node, attrs, children);
  return node;
}

function put(node, attrs, children) {
  for (const [key, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'key' || key.startsWith('on')) node[key] = value;
    else if (key === 'width%') node.style.width = `${value}%`;
    else if (key === 'left%') node.style.left = `${value}%`;
    else node.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

async function api(path, options) {
  const response = await fetch(path, { signal: AbortSignal.timeout(30000), ...options });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(body.error || `the server answered ${response.status}`), { answered: true });
  return body;
}

const send = (path, body, method = 'POST') => api(path, {
  method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body),
});

function toast(text) {
  const line = h('p', {}, text);
  $('toast').append(line);
  setTimeout(() => line.remove(), 6000);
}

async function act(words, doing) {
  try {
    const told = await doing();
    // The server knows best what comes of it and when.
    toast(told && told.effect ? `${words}: ${told.effect}` : words);
    refresh();
  } catch (error) {
    toast(`That did not work: ${error.message}`);
  }
}

function confirmed(text, word) {
  const dialog = $('ask');
  return new Promise((resolve) => {
    const close = (answer) => { dialog.close(); resolve(answer); };
    dialog.oncancel = () => resolve(false);
    dialog.replaceChildren(h('p', {}, text), h('div', { class: 'buttons' },
      h('button', { type: 'button', class: 'primary', onclick: () => close(true) }, word),
      h('button', { type: 'button', onclick: () => close(false) }, 'Cancel')));
    dialog.showModal();
  });
}

// ---- words and numbers -----------------------------------------------------------------------

const usd = (n) => (n === null || n === undefined ? '–' : `$${n.toFixed(2)}`);
const tokens = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(1)}M` : n >= 1e4 ? `${Math.round(n / 1e3)}k` : n >= 1e3 ? `${(n / 1e3).toFixed(1)}k` : `${n ?? '–'}`);
const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

function span(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const t = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(t / 3600), Math.floor(t / 60) % 60];
  if (hours) return `${hours}h ${String(minutes).padStart(2, '0')}m`;
  return minutes ? `${minutes}m ${String(t % 60).padStart(2, '0')}s` : `${t}s`;
}
const took = (ms) => (ms === null || ms === undefined ? '–' : ms < 1000 ? `${ms} ms` : span(ms / 1000));
const clock = (at) => { const d = new Date(at); return isNaN(d) ? (at || '') : d.toLocaleTimeString([], { hour12: false }); };
const day = (at) => { const d = new Date(at); return isNaN(d) ? '' : `${d.toLocaleDateString([], { month: 'short', day: 'numeric' })} ${clock(at).slice(0, 5)}`; };

const GLYPHS = {
  pending: ['○', ''], running: ['▶', 'hot'], open: ['▶', 'hot'], done: ['◇', 'good'], accepted: ['✓', 'good'], landed: ['✓', 'good'],
  partial: ['◐', 'good'], blocked: ['■', 'bad'], failed: ['✕', 'bad'], killed: ['⊘', 'bad'], skipped: ['–', 'dim'], gone: ['–', 'dim'],
  limited: ['⧗', 'warn'], active: ['▶', 'hot'], healthy: ['✓', 'good'], idle: ['○', 'dim'], attention: ['▲', 'warn'], stopped: ['■', 'bad'],
  paused: ['‖', 'warn'], waiting: ['⧗', 'warn'], ended: ['●', 'dim'], crashed: ['✕', 'bad'], interrupted: ['✕', 'bad'], never: ['○', 'dim'],
};
const glyph = (word) => h('span', { class: `glyph ${(GLYPHS[word] || ['·', ''])[1]}`, 'aria-hidden': 'true' }, (GLYPHS[word] || ['·'])[0]);
const state = (word, text) => h('span', { class: (GLYPHS[word] || ['', ''])[1] }, glyph(word), ' ', text || word.replace(/_/g, ' '));

function bar(share, marks, kind) {
  return h('div', { class: 'bar' }, h('i', { class: kind, 'width%': Math.min(100, Math.max(0, share * 100)) }),
    (marks || []).map((at) => h('u', { 'left%': at * 100 })));
}
const panel = (title, right, ...body) => h('section', { class: 'panel', key: title }, h('h2', {}, title, right && h('span', { class: 'right' }, right)), body);
const empty = (text) => h('p', { class: 'empty' }, text);
const facts = (rows) => h('dl', { class: 'facts' }, rows.filter((r) => r[1] !== null && r[1] !== undefined && r[1] !== '').map(([k, v]) => [h('dt', {}, k), h('dd', {}, v)]));
const attemptLink = (row) => h('a', { href: `#attempt/${row.attempt}` }, `#${row.iteration}`);
const taskLink = (id) => h('a', { href: `#task/${encodeURIComponent(id)}`, class: 'mono' }, id);

function diff(text) {
  const kind = (line) => (line.startsWith('@@') ? 'hunk' : /^(diff |---|\+\+\+)/.test(line) ? 'file' : /^(index |new file|deleted file|old mode|new mode|similarity|rename )/.test(line) ? 'dim' : line[0] === '+' ? 'add' : line[0] === '-' ? 'del' : '');
  return h('pre', { class: 'box diff' }, text.split('\n').map((line) => h('span', { class: kind(line) }, `${line}\n`)));
}

// Markdown, as much of it as a preview needs; every text becomes a text node.
function markdown(text) {
  const out = h('div', { class: 'md' });
  let list = null;
  let code = null;
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) { code = code ? null : out.appendChild(h('pre', { class: 'box' })); list = null; continue; }
    if (code) { code.append(`${line}\n`); continue; }
    const head = line.match(/^(#{1,4})\s+(.*)/);
    const item = line.match(/^\s*[-*]\s+(\[( |x)\]\s+)?(.*)/i);
    if (head) { list = null; out.append(h('h3', {}, head[2])); }
    else if (item) {
      list = list || out.appendChild(h('ul'));
      list.append(h('li', {}, item[1] ? (item[2] === ' ' ? '☐ ' : '☑ ') : '', item[3]));
    } else if (line.trim()) { list = null; out.append(h('p', {}, line)); } else list = null;
  }
  return out;
}

// ---- what is known ---------------------------------------------------------------------------

const know = { state: null, events: [], first: 1, last: null, stream: { id: null, items: [], next: null }, skew: 0, silent: false };
let pane = 'now';
let argument = '';
let sub = { plan: 'board', attempt: 'stream' };

// A loop that was killed ends nothing in its journal: what is open there does not go on.
const crashed = () => Boolean(know.state && know.state.loop.status === 'crashed');
const liveState = (word) => (crashed() && ['open', 'running', 'active'].includes(word) ? 'crashed' : word);
// The task that the loop was at when it crashed waits again; what matters is that it was cut off.
const taskState = (card) => (crashed() && know.state.recent.some((row, n) => n === 0 && row.task_id === card.id && row.result === 'interrupted') ? 'crashed' : liveState(card.state));
const resultWord = (row) => (row.landing === 'partial' ? 'partial' : row.failure && row.failure.kind === 'interrupted' ? 'ended' : row.result);
const resultOf = (row) => (crashed() && ['open', 'interrupted'].includes(row.result) ? state('interrupted', 'interrupted by the crash') : state(resultWord(row), row.result === 'open' ? 'running' : row.failure ? row.failure.message : row.words));

// A clock that counts from `at` while the loop runs and the server answers.
const age = (at) => (Date.now() - know.skew - new Date(at)) / 1000;
const since = (at) => h('span', { 'data-since': at }, span(age(at)));

function tick() {
  if (know.silent) return;
  document.querySelectorAll('[data-since]').forEach((node) => patchText(node.firstChild, span(age(node.dataset.since))));
}

// ---- the top bar -----------------------------------------------------------------------------

function drawTop() {
  const now = know.state;
  if (!now) return;
  const { loop } = now;
  document.title = `${loop.status === 'running' && !know.silent ? '▶ ' : ''}${now.project} · ralph`;
  show($('project'), now.project);
  show($('status'), state(loop.status));
  const fact = (name, value) => h('span', {}, `${name} `, h('b', {}, value));
  const spec = now.spec_now;
  show($('summary'),
    (now.tasks_total > 0 || loop.pid || loop.stage === 'UNREADABLE') && fact('stage', loop.stage),
    spec && spec.total > 0 && fact('spec', `${spec.number} of ${spec.total}`),
    now.tasks_total ? fact('tasks', `${doneTasks(now)} of ${now.tasks_total}`) : loop.stage !== 'UNREADABLE' && h('span', {}, 'No tasks'),
    fact('cost', now.cost.limit_usd ? `${now.cost.run.cost_words}, limit ${usd(now.cost.limit_usd)}` : now.cost.run.cost_words),
    now.needs.length > 0 && h('a', { href: '#now', class: 'bad' }, `▲ ${plural(now.needs.length, 'thing')} for you`));
}

const doneTasks = ({ tasks }) => tasks.accepted + tasks.done;

// ---- Now -------------------------------------------------------------------------------------

const tile = (title, big, kind, ...lines) => h('section', { class: 'panel tile', key: title }, h('h2', {}, title), h('div', { class: `big ${kind || ''}`, title: typeof big === 'string' ? big : null }, big), lines.filter(Boolean).map((line) => h('p', {}, line)));

function drawNow(main) {
  const now = know.state;
  if (!now) return show(main, empty('Loading…'));
  const right = h('div', { class: 'stack', key: 'right' },
    now.needs.length > 0 && panel('Needs you', null, needs(now.needs)),
    now.spec_now && specPanel(now.spec_now),
    now.attempt && attemptPanel(now),
    now.amendments.length > 0 && panel('Plan changed by agents', null, h('ul', {}, now.amendments.map((a, n) => h('li', { key: n }, `${a.by_task}: ${a.words}`)))),
    panel('Last attempts', h('a', { href: '#timeline' }, 'all'), attemptTable(now.recent, true)),
    now.next.length > 0 && panel('Next', null, h('div', {}, now.next.map((id) => [taskLink(id), ' ']))));
  const follows = !isRead($('stream'));
  show(main, problems(), h('div', { class: 'grid five', key: 'tiles' }, nowTile(now), healthTile(now), progressTile(now), costTile(now), needsTile(now)),
    h('div', { class: 'grid two stack-top', key: 'body' }, streamPanel(), right));
  if (follows) $('stream').scrollTop = $('stream').scrollHeight;
}

// What an agent of a stage does about its item.
const ROLES = { plan: ['Planner', 'turns the spec into tasks'], verify: ['Verifier', 'checks the work'], investigate: ['Investigator', 'looks into an issue'], decompose: ['Decomposer', 'breaks work down'] };
const roleOf = (agent) => ROLES[agent.role] || [agent.role, 'is asked'];
const specPlace = (spec) => `${spec.spec}${spec.total ? ` (spec ${spec.number} of ${spec.total})` : ''}`;

function nowTile({ loop, attempt, spec_now: spec }) {
  const runs = loop.pid !== null;
  const asked = runs && !attempt && loop.status === 'running' ? workingAgents(spec) : [];
  const doing = asked.length ? `${roleOf(asked[0])[0]}: ${asked.map((agent) => agent.item).join(', ')}` : attempt && runs ? attempt.name || attempt.task_id : state(loop.status);
  const words = asked.length ? `${roleOf(asked[0])[0]} ${roleOf(asked[0])[1]}.` : loop.words;
  return tile('Now', doing, '', loop.stopping ? `${words} It ends after what runs now.` : words, spec && runs && specPlace(spec),
    runs && loop.started_at && h('span', {}, `ralph ${loop.command} for `, since(loop.started_at), loop.spec && !spec ? `, ${loop.spec}` : ''),
    loop.wait_until && runs && `goes on at ${clock(loop.wait_until)}`);
}

const workingAgents = (spec) => (spec && !crashed() ? spec.agents.filter((agent) => agent.result === null) : []);

// Which spec it is, how far its stages are, and what planner and verifier do.
function specPanel(spec) {
  const ended = new Map(spec.past.map((row) => [row.stage, row]));
  const stages = ['PLAN', 'BUILD', 'VERIFY'].concat(spec.past.map((row) => row.stage), spec.stage || []).filter((stage, n, all) => all.indexOf(stage) === n);
  const kind = (stage) => (stage === spec.stage ? (crashed() ? 'cut' : 'here') : ended.has(stage) || (stage === 'PLAN' && spec.iteration > 0) ? 'past' : '');
  const agent = (a) => h('tr', { key: a.id }, h('td', {}, a.result === null ? state(liveState('running'), roleOf(a)[0]) : state(a.result === 'finished' ? 'accepted' : 'failed', roleOf(a)[0])),
    h('td', { class: 'grow' }, a.item), h('td', { class: 'dim' }, a.result === null ? (crashed() ? 'interrupted by the crash' : since(a.started_at)) : a.result), h('td', { class: 'n' }, took(a.duration_ms)));
  const box = panel(`Spec ${spec.total ? `${spec.number} of ${spec.total}` : ''}`.trim(), h('a', { href: `#spec/${encodeURIComponent(spec.spec)}` }, spec.spec),
    h('ol', { class: 'steps' }, stages.map((stage) => h('li', { class: kind(stage), key: stage }, stage.toLowerCase(), ended.has(stage) && h('div', { class: 'dim' }, ended.get(stage).words)))),
    spec.agents.length > 0 && h('div', { class: 'scroll' }, h('table', { class: 'agents' }, h('tbody', {}, spec.agents.map(agent)))));
  box.key = 'spec';
  return box;
}

const healthTile = ({ health }) => tile('Health', state(health.word), '', health.why[0] || (health.word === 'healthy' ? 'nothing stands out' : ''), health.why[1]);

function progressTile(now) {
  const { tasks, tasks_total: total, loop } = now;
  const limit = loop.iteration > 0 && `iteration ${loop.iteration} of at most ${loop.iteration_limit}`;
  if (loop.stage === 'UNREADABLE') return tile('Progress', 'Unknown', 'bad', 'the plan or the queue cannot be read');
  if (!total) return tile('Progress', 'No tasks', 'dim', loop.pid ? 'the plan has none yet' : 'add one: ralph task add, or plan a spec: ralph plan', limit);
  const rest = ['pending', 'blocked', 'failed', 'skipped'].filter((word) => tasks[word]).map((word) => `${tasks[word]} ${word}`).concat(now.spec_now && tasks.done ? `${tasks.done} to verify` : []).join(', ');
  return tile('Progress', `${doneTasks(now)} of ${plural(total, 'task')}`, '', bar(doneTasks(now) / total, [], 'good'), rest || 'nothing is left', limit);
}

function costTile({ cost }) {
  const budget = cost.limit_usd;
  const warn = budget && cost.run.cost_usd / budget > 0.8 ? 'warn' : '';
  return tile('Cost', cost.run.cost_words, warn, budget ? bar(cost.run.cost_usd / budget, [0.8], warn) : null,
    budget ? `of a budget of ${usd(budget)}` : 'no budget is set (limits.max_cost)', `${cost.total.cost_words} in all runs`);
}

// Green only where somebody works or everything is done.
function needsTile(now) {
  const { needs: list, loop, tasks_total: total } = now;
  if (list.length) return tile('Needs you', plural(list.length, 'thing'), 'bad', list[0].text);
  if (loop.pid !== null) return tile('Needs you', 'Nothing to do', loop.status === 'running' ? 'good' : 'warn', loop.status);
  const left = total - doneTasks(now) - now.tasks.skipped;
  if (left > 0) return tile('Needs you', 'Not running', 'warn', `${plural(left, 'task')} left; start it: ralph ${loop.command || 'build'}`);
  return total ? tile('Needs you', 'Nothing to do', 'good', 'all tasks are done') : tile('Needs you', 'Nothing to do', 'dim', 'no tasks');
}

function problems() {
  return ((know.state && know.state.problems) || []).map((text) => h('div', { class: 'problem' }, state('failed', 'problem'), ` ${text}`));
}

const needs = (list) => h('ul', { class: 'needs' }, list.map((n) => h('li', { key: `${n.kind} ${n.task || n.text}` }, state(n.kind === 'paused' || n.kind === 'ended' ? 'attention' : 'blocked', n.kind), ' ', n.task ? [taskLink(n.task), n.text.startsWith(n.task) ? n.text.slice(n.task.length) : ` ${n.text}`] : n.text, h('p', {}, '→ ', h('code', {}, n.command), ` ${n.effect}`))));

function attemptPanel(now) {
  const a = now.attempt;
  const phases = [['backend', 'Backend works'], ['gates', 'Gates decide'], ['landing', a.phase === 'rolling_back' ? 'Roll back' : 'Land']];
  const at = Math.max(0, ['backend', 'gates', 'landing', 'rolling_back'].indexOf(a.phase));
  const late = a.elapsed_s / a.timeout_s;
  const context = now.context;
  const share = context && context.window ? context.used / context.window : null;
  const shown = { passed: ['accepted', 'green'], failed: ['failed', 'red'], running: ['running', 'running'], waiting: ['pending', 'waits'] };
  const where = { base: ' on the tree before', alone: ' on the commit alone' };
  const gate = (g) => h('tr', { key: g.name }, h('td', {}, state(...shown[g.state]), where[g.on] || '', g.elapsed_s ? h('span', { class: 'dim' }, ` ${span(g.elapsed_s)}`) : ''),
    h('td', {}, g.name, !g.required && h('span', { class: 'dim' }, ' (optional)')), h('td', { class: 'grow mono dim' }, g.command));
  const body = [h('ol', { class: 'steps' }, phases.map(([, words], n) => h('li', { class: n < Math.min(at, 2) ? 'past' : n === Math.min(at, 2) ? 'here' : '' }, words))),
    facts([['backend', `${a.backend}${a.model ? ` · ${a.model}` : ''}`], ['try', `${a.retry + 1} of at most ${a.max_retries + 1}`]]),
    h('div', { key: 'clock' }, bar(late, [], late > 0.8 ? 'warn' : ''), h('div', { class: 'scale' }, h('span', {}, since(a.started_at), ' elapsed'), h('span', {}, `timeout ${span(a.timeout_s)}`))),
    context && h('div', { key: 'context' }, share !== null && bar(share, [context.warn, context.compact, context.kill], share >= context.compact ? 'bad' : share >= context.warn ? 'warn' : ''),
      h('div', { class: 'scale' }, h('span', {}, `context ${tokens(context.used)}${context.window ? ` of ${tokens(context.window)} tokens (${Math.round(share * 100)} %)` : ' tokens'}`),
        h('span', {}, `warn ${context.warn * 100} · compact ${context.compact * 100} · stop ${context.kill * 100} %`))),
    a.gates.length ? h('div', { class: 'scroll' }, h('table', {}, h('tbody', {}, a.gates.map(gate)))) : h('p', { class: 'dim' }, 'No gate is configured, so nothing will be proven.')];
  return panel('Current attempt', [attemptLink(a), ' ', taskLink(a.task_id)], ...body);
}

function attemptTable(rows, small) {
  if (!rows.length) return empty('No attempt was made yet.');
  const head = ['#', 'Task', 'Result', 'Gates', 'Time', 'Cost'].concat(small ? [] : ['Tokens', 'When']);
  const gates = (row) => (row.verdict && row.verdict.checks.length ? `${row.verdict.checks.filter((c) => c.passed).length}/${row.verdict.checks.length}` : '–');
  return h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, head.map((t, n) => h('th', { class: n > 2 ? 'n' : '' }, t)))), h('tbody', {}, rows.map((row) => h('tr', { class: 'row', 'data-attempt': row.attempt, key: row.attempt },
    h('td', {}, attemptLink(row)), h('td', {}, taskLink(row.task_id)), h('td', { class: 'grow' }, resultOf(row)), h('td', { class: 'n' }, gates(row)),
    h('td', { class: 'n' }, took(row.duration_ms)), h('td', { class: 'n' }, usd(row.cost_usd)),
    !small && [h('td', { class: 'n' }, row.tokens ? `${tokens(row.tokens[0])} / ${tokens(row.tokens[1])}` : '–'), h('td', { class: 'n dim' }, day(row.started_at))])))));
}

// ---- the stream of a backend -----------------------------------------------------------------

// An answer in JSON, alone, in a fence or behind other words: the words, and the object.
function splitAnswer(text) {
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) {
    if (!/^\{\s*"/.test(text.slice(at, at + 40))) continue;
    try { return [text.slice(0, at).replace(/```(json)?\s*$/, ''), JSON.parse(text.slice(at).replace(/\s*```\s*$/, ''))]; } catch (error) { /* perhaps the next one */ }
  }
  return [text, null];
}

// An object as a person reads it: a handoff as everywhere, anything else by its fields.
function answerBody(value) {
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return h('ul', {}, value.map((x) => h('li', {}, answerBody(x))));
  if (value.task_completed || value.freeform) return handoffBody(value);
  return facts(Object.entries(value).filter(([, v]) => !(Array.isArray(v) && !v.length)).map(([k, v]) => [k.replace(/_/g, ' '), v === null ? null : answerBody(v)]));
}

function itemBody(item) {
  if (item.kind === 'divider') return h('div', {}, speakerLinks(item.speaker));
  if (!['tool', 'result'].includes(item.kind)) {
    item.parts = item.parts || splitAnswer(item.text);
    const [words, answer] = item.parts;
    return h('div', { class: `${item.kind} ${item.failed ? 'bad' : ''}` }, words.trimEnd(), answer && h('div', { class: 'answer' }, answerBody(answer)));
  }
  if (!item.detail) return h('span', { class: 'mono' }, item.text);
  item.parts = item.parts || (item.kind === 'tool' ? splitAnswer(item.detail) : [item.detail, null]);
  const answer = item.parts[1] && item.parts[1].task_completed ? item.parts[1] : null;
  return h('details', {}, h('summary', { class: item.failed ? 'bad mono' : 'mono' }, answer ? 'handoff' : item.text || '(no words)'),
    answer ? answerBody(answer) : /^[-+]/m.test(item.detail) && item.kind === 'tool' ? diff(item.detail) : h('pre', {}, item.detail));
}

// Not `row`: heights that are guessed would move the end, which is followed.
const itemNode = (item) => h('div', { class: `item ${item.kind}`, key: `${item.of}/${item.n}` }, h('span', {}, item.failed ? '✕ failed' : item.kind === 'divider' ? '' : item.kind), itemBody(item));

const atEnd = (box) => box.scrollHeight - box.scrollTop - box.clientHeight < 60;

// Whether somebody reads in it: then it follows no new output, and drops nothing.
function isRead(box) {
  const selection = getSelection();
  return Boolean(box) && (!atEnd(box) || box.querySelector('details[open]') !== null || box.querySelector(':focus') !== null
    || (!selection.isCollapsed && box.contains(selection.anchorNode)));
}

// Whose output is shown: the attempt or the agent that works, or else the one that began last.
function speaker() {
  const { attempt, recent, spec_now: spec } = know.state;
  const agent = workingAgents(spec).pop() || (spec && spec.agents[0]);
  const last = attempt || recent[0];
  return agent && !attempt && (!last || agent.started_at >= last.started_at) ? agent : last;
}
const speakerId = (of) => of.attempt || of.id;
const speakerLinks = (of) => (of.attempt ? [taskLink(of.task_id), ' ', attemptLink(of)] : `${roleOf(of)[0]} ${of.item}`);

function streamPanel() {
  const { attempt, spec_now: spec } = know.state;
  const of = speaker();
  const words = of ? 'The backend has said nothing yet.' : 'When a loop runs, everything its backend says and does appears here. Start one: ralph build';
  const box = h('div', { class: 'stream', id: 'stream', tabindex: '0', 'aria-label': 'What the backend says and does' }, know.stream.items.length ? know.stream.items.map(itemNode) : empty(words));
  const live = attempt ? attempt.phase === 'backend' : workingAgents(spec).length > 0;
  const output = panel(live ? 'Live' : 'Last output', of && speakerLinks(of), box);
  output.key = 'output';
  return output;
}

async function pullItems(stream) {
  const of = stream.id;
  try {
    for (let more = true; more && know.stream === stream;) {
      // The last item may still have grown: it is asked for again.
      const after = stream.next === null ? '' : `after=${Math.max(0, stream.next - 1)}&`;
      const page = await api(`${stream.path}?${after}limit=300`);
      stream.items = stream.items.filter((item) => item.of !== of || !(item.n >= page.from)).concat(page.items.map((item, n) => ({ ...item, of, n: page.from + n })));
      more = page.items.length > 1 && page.next < page.total;
      stream.next = page.next;
    }
  } catch (error) { /* the log may not be there yet */ }
}

// Output of the attempts and agents that were watched, one after the other.
async function pullStream() {
  const current = know.state && speaker();
  if (!current) return;
  const stream = know.stream;
  const of = speakerId(current);
  if (stream.id !== of) {
    // The last words of the one before.
    if (stream.id) await pullItems(stream);
    if (stream.items.length) stream.items.push({ kind: 'divider', of, n: 'begin', speaker: current });
    Object.assign(stream, { id: of, path: `/api/${current.attempt ? 'attempts' : 'agents'}/${of}/stream`, next: null });
  }
  await pullItems(stream);
  // What a person reads stays, within reason.
  stream.items = stream.items.slice(isRead($('stream')) ? -5000 : -600);
}

// ---- Plan ------------------------------------------------------------------------------------

async function drawPlan(main, old) {
  const page = await api('/api/plan?limit=500');
  let cards = page.tasks;
  while (cards.length < page.total && cards.length < 5000) cards = cards.concat((await api(`/api/plan?limit=500&offset=${cards.length}`)).tasks);
  cards = cards.map((c) => ({ ...c, state: taskState(c) }));
  const views = ['board', 'graph', 'list'];
  const chooser = h('div', { class: 'sub' }, views.map((v) => h('button', { type: 'button', 'aria-pressed': String(sub.plan === v), onclick: () => { sub.plan = v; draw(); } }, v)),
    h('span', { class: 'dim' }, [page.file, plural(page.total, 'task'), page.total > 0 && `stage ${page.stage}`, page.spec].filter(Boolean).join(' · ')));
  const issues = page.issues.length ? panel('Issues to investigate', null, h('ul', { class: 'needs' }, page.issues.map((i) => h('li', {}, h('span', { class: 'mono' }, i.id), ` ${i.desc}`)))) : null;
  const body = !cards.length ? empty('The plan has no tasks. Add one: ralph task add, or plan a spec: ralph plan')
    : sub.plan === 'graph' ? graph(cards) : sub.plan === 'list' ? list(cards) : board(cards);
  if (old()) return;
  show(main, page.problem && h('div', { class: 'problem' }, page.problem), chooser, h('div', { key: sub.plan }, body), issues);
}

const card = (c) => h('a', { class: `card is-${c.state}`, href: `#task/${encodeURIComponent(c.id)}`, 'data-task': c.id, key: c.id },
  h('div', {}, state(c.state), ' ', h('span', { class: 'mono dim' }, c.id), c.turn && c.state === 'pending' ? h('span', { class: 'dim' }, ` · ${c.turn === 1 ? 'next' : `turn ${c.turn}`}`) : ''),
  h('div', {}, c.name), c.why && h('small', {}, c.why), c.attempts > 0 && h('small', {}, `${plural(c.attempts, 'attempt')}${c.cost_usd ? `, ${usd(c.cost_usd)}` : ''}`));

function board(cards) {
  const columns = [['To do', ['pending']], ['In work', ['running', 'done']], ['In the way', ['crashed', 'blocked', 'failed', 'killed']], ['Finished', ['accepted', 'skipped', 'gone']]];
  return h('div', { class: 'board' }, columns.map(([title, states]) => {
    const mine = cards.filter((c) => states.includes(c.state));
    if (title === 'To do') mine.sort((a, b) => (a.turn || 1e6) - (b.turn || 1e6));
    return h('div', { key: title }, h('h3', {}, `${title} · ${mine.length}`), mine.length ? mine.map(card) : h('p', { class: 'dim' }, 'none'));
  }));
}

const list = (cards) => h('div', { class: 'panel scroll' }, h('table', {}, h('thead', {}, h('tr', {}, ['State', 'Id', 'Task', 'Needs', 'Tries', 'Cost'].map((t) => h('th', {}, t)))),
  h('tbody', {}, cards.map((c) => h('tr', { class: 'row', 'data-task': c.id, key: c.id }, h('td', {}, state(c.state)), h('td', {}, taskLink(c.id)), h('td', { class: 'grow' }, c.name, c.why && h('div', { class: 'dim' }, c.why)), h('td', { class: 'mono dim' }, c.deps.join(' ')), h('td', { class: 'n' }, c.attempts), h('td', { class: 'n' }, usd(c.cost_usd)))))));

// Tasks in columns by how far they are from the first; what is finished is left out when there is much.
function graph(all) {
  const most = 120;
  const cards = (all.length > most ? all.filter((c) => !['accepted', 'skipped'].includes(c.state)) : all).slice(0, most);
  const byId = new Map(cards.map((c) => [c.id, c]));
  const level = new Map();
  for (let round = 0, moved = true; moved && round < cards.length + 1; round += 1) {
    moved = false;
    for (const c of cards) {
      const want = c.deps.reduce((n, d) => (byId.has(d) ? Math.max(n, (level.get(d) || 0) + 1) : n), 0);
      if (want > (level.get(c.id) || 0) && want <= cards.length) { level.set(c.id, want); moved = true; }
    }
  }
  const rows = []; const place = new Map();
  for (const c of cards) { const x = level.get(c.id) || 0; rows[x] = (rows[x] || 0) + 1; place.set(c.id, [x, rows[x] - 1]); }
  const [w, gap, step] = [190, 54, 46];
  const height = Math.max(...rows.map((n) => n || 0)) * step + 16; const width = rows.length * (w + gap);
  const svg = s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Which task waits for which' });
  const xy = (id) => { const [x, y] = place.get(id); return [x * (w + gap) + 4, y * step + 6]; };
  for (const c of cards) for (const d of c.deps.filter((id) => byId.has(id))) {
    const [[x1, y1], [x2, y2]] = [xy(d), xy(c.id)];
    svg.append(s('path', { class: 'edge', d: `M${x1 + w},${y1 + 17} C${x1 + w + gap / 2},${y1 + 17} ${x2 - gap / 2},${y2 + 17} ${x2},${y2 + 17}` }));
  }
  for (const c of cards) {
    const [x, y] = xy(c.id);
    const cut = (t, n) => (t.length > n ? `${t.slice(0, n - 1)}…` : t);
    svg.append(s('a', { href: `#task/${encodeURIComponent(c.id)}`, key: c.id }, s('g', { class: `node is-${c.state}` }, s('title', {}, `${c.id} ${c.state}: ${c.name}${c.why ? ` (${c.why})` : ''}`), s('rect', { x, y, width: w, height: 35, rx: 4 }),
      s('text', { class: 'ink', x: x + 7, y: y + 14 }, cut(`${(GLYPHS[c.state] || ['·'])[0]} ${c.name}`, 30)), s('text', { x: x + 7, y: y + 28 }, cut(`${c.id} ${c.state}`, 30)))));
  }
  return h('div', { class: 'panel scroll' }, svg, all.length > cards.length && h('p', { class: 'dim' }, `${all.length - cards.length} tasks are left out; the list has all of them`));
}

const PAST = { accept: 'accepted', reject: 'rejected', delete: 'removed' };

async function drawTask(main, old) {
  const page = await api(`/api/tasks/${encodeURIComponent(argument)}`);
  const { task } = page;
  const c = { ...page.card, state: taskState(page.card) };
  const steer = (command, words) => h('button', { type: 'button', onclick: () => act('Sent', () => send('/api/command', { command, task_id: c.id })) }, words);
  if (old()) return;
  const accept = task && task.accept ? [task.accept].flat() : [];
  show(main, h('div', { class: 'sub' }, h('a', { href: '#plan' }, '← Plan')),
    h('div', { class: 'grid two' },
      h('div', { class: 'stack' },
        panel(c.id, state(c.state), h('h1', {}, c.name || c.id), c.why && h('p', { class: 'bad' }, `■ ${c.why}`),
          task && task.notes && h('pre', { class: 'box' }, task.notes), accept.length > 0 && [h('label', {}, 'Done when'), h('ul', {}, accept.map((a) => h('li', {}, a)))]),
        panel('Attempts', plural(page.attempts.length, 'attempt'), attemptTable(page.attempts))),
      h('div', { class: 'stack' },
        panel('Facts', null, facts([['spec', task && task.spec], ['priority', c.priority], ['needs', c.deps.length ? c.deps.map((d) => [taskLink(d), ' ']) : null], ['needed by', page.dependents.length ? page.dependents.map((d) => [taskLink(d), ' ']) : null], ['cost', usd(c.cost_usd)], ['rejected', task && task.reject]])),
        page.past.length > 0 && panel('Past', null, h('ul', { class: 'needs' }, page.past.map((p) => h('li', {}, `${PAST[p.kind] || p.kind} ${day(p.at)}`, p.reason && h('p', {}, p.reason))))),
        panel('Steer', null, ['accepted', 'gone'].includes(c.state) ? h('p', { class: 'dim' }, 'It is finished; there is nothing to steer.') : h('div', { class: 'buttons' }, steer('skip-task', 'Skip it'), steer('retry-task', 'Try it again'))))));
}

async function drawAttempt(main, old) {
  const a = await api(`/api/attempts/${encodeURIComponent(argument)}`);
  const row = a;
  const id = row.attempt;
  const parts = {
    stream: async () => { const p = await api(`/api/attempts/${id}/stream?limit=500&after=0`); return p.items.length ? h('div', { class: 'stream' }, p.items.map((item, n) => itemNode({ ...item, of: id, n })), p.total > p.items.length && empty(`${p.total - p.items.length} more: ralph show ${row.iteration} --events`)) : empty('It said nothing.'); },
    gates: async () => { const g = await api(`/api/attempts/${id}/gates`); return g.checks.length ? h('div', { class: 'stack' }, g.checks.map((c) => h('details', { open: !c.passed, key: c.name }, h('summary', {}, state(c.passed ? 'accepted' : 'failed', c.words), ` ${c.name} `, h('code', { class: 'dim' }, c.command || '')), h('pre', { class: 'box' }, c.output || '(no output)'))), g.judges.length > 0 && h('div', {}, h('label', {}, 'Tests, manifests and CI that it changed'), h('pre', { class: 'box' }, g.judges.join('\n')))) : empty('No gate ran: something else decided, or none is configured.'); },
    diff: async () => { const d = await api(`/api/attempts/${id}/diff`); return d.patch ? h('div', {}, h('p', { class: 'dim mono' }, d.kept_as), diff(d.patch)) : empty('Nothing was changed, or it is not kept.'); },
    prompt: async () => h('pre', { class: 'box' }, (await api(`/api/attempts/${id}/prompt`)).text),
    handoff: async () => handoffBody((await api(`/api/attempts/${id}/handoff`)).handoff),
  };
  const body = await parts[sub.attempt]().catch((e) => empty(e.message));
  if (old()) return;
  know.settled = row.result === 'open' ? null : id;
  show(main, h('div', { class: 'sub' }, h('a', { href: `#task/${encodeURIComponent(row.task_id)}` }, `← ${row.task_id}`)),
    h('div', { class: 'grid two' },
      h('section', { class: 'panel' }, h('div', { class: 'sub' }, Object.keys(parts).map((p) => h('button', { type: 'button', 'aria-pressed': String(sub.attempt === p), onclick: () => { sub.attempt = p; draw(); } }, p))), h('div', { key: sub.attempt }, body)),
      panel(`Attempt #${row.iteration}`, state(liveState(resultWord(row)), row.result === 'open' && !crashed() ? 'running' : null), h('h1', {}, row.name), facts([['task', taskLink(row.task_id)], ['result', resultOf(row)], ['backend', `${row.backend}${row.model ? ` · ${row.model}` : ''}`], ['claims', a.claim_words], ['summary', row.summary], ['try', row.retry + 1], ['began', day(row.started_at)], ['backend took', took(row.duration_ms)], ['cost', usd(row.cost_usd)], ['tokens', row.tokens && `${tokens(row.tokens[0])} in, ${tokens(row.tokens[1])} out`], ['files', row.changed_files], ['commit', row.commit && h('code', {}, row.commit.slice(0, 12))], ['kept as', row.salvage && h('code', {}, row.salvage)]]),
        a.retry_context && [h('label', {}, 'What the next try was told'), h('pre', { class: 'box' }, a.retry_context)])));
}

// ---- Specs -----------------------------------------------------------------------------------

async function drawSpecs(main, old) {
  const [inbox, specs] = await Promise.all([api('/api/inbox'), api('/api/specs')]);
  if (old()) return;
  const waiting = inbox.entries.filter((e) => e.status === 'pending' || e.status === 'active');
  const past = inbox.entries.filter((e) => !waiting.includes(e)).reverse();
  const pending = waiting.filter((e) => e.status === 'pending');
  const move = (e, before, words, disabled) => h('button', { type: 'button', disabled, title: words, 'aria-label': `${words}: ${e.spec}`, onclick: () => act('Moved', () => send(`/api/inbox/${e.id}/move`, { before })) }, words === 'earlier' ? '↑' : '↓');
  const line = (e) => {
    const at = pending.indexOf(e);
    const tools = e.status === 'pending' && h('div', { class: 'buttons' }, move(e, at > 0 ? pending[at - 1].id : null, 'earlier', at === 0), move(e, pending[at + 2] ? pending[at + 2].id : null, 'later', at === pending.length - 1),
      h('button', { type: 'button', class: 'danger', onclick: () => act(`${e.spec} is out of the queue`, () => send(`/api/inbox/${e.id}`, null, 'DELETE')) }, 'Remove'));
    return h('tr', { 'data-inbox': e.id, key: e.id }, h('td', {}, state(liveState(e.status))), h('td', { class: 'grow' }, h('a', { href: `#spec/${encodeURIComponent(e.spec)}` }, e.spec), e.error && h('div', { class: 'bad' }, e.error)), h('td', { class: 'mono dim wide' }, e.id), h('td', { class: 'dim' }, day(e.completed_at || e.started_at || e.added_at)), h('td', {}, tools || ''));
  };
  const name = h('input', { id: 'spec-name', placeholder: 'feature-x.md', autocomplete: 'off' });
  const written = () => ($('spec-text') ? $('spec-text').value : '');
  const preview = () => h('div', { class: 'box', id: 'spec-preview' }, written() ? markdown(written()) : empty('The preview appears as you write.'));
  const text = h('textarea', { id: 'spec-text', oninput: () => patch($('spec-preview'), preview()), placeholder: '# Feature X\n\nWhat is wanted, and how to see that it is there.\n\n- [ ] `cargo test x` passes' });
  const add = () => act('Written and queued', async () => {
    const made = await send('/api/specs', { name: $('spec-name').value, text: written() });
    const told = await send('/api/inbox', { spec: made.name });
    forgetTyped('spec-name', 'spec-text');
    if ($('spec-text')) $('spec-text').value = '';
    return told;
  });
  show(main, h('div', { class: 'grid two' },
    h('div', { class: 'stack' },
      panel('Queue', plural(pending.length, 'spec'), waiting.length ? h('table', { class: 'queue' }, h('tbody', {}, waiting.map(line))) : empty('The queue is empty. `ralph agent` works through what you put here.')),
      panel('New spec', null, h('label', { for: 'spec-name' }, 'File in ralph/specs/'), name, h('div', { class: 'grid half' }, h('div', {}, h('label', { for: 'spec-text' }, 'What is wanted, in markdown'), text), h('div', {}, h('label', {}, 'Preview'), preview())), h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: add }, 'Write and queue')))),
    h('div', { class: 'stack' },
      panel('Specs', plural(specs.specs.length, 'file'), specs.specs.length ? h('table', {}, h('tbody', {}, specs.specs.map((x) => h('tr', { key: x.name }, h('td', { class: 'grow' }, h('a', { href: `#spec/${encodeURIComponent(x.name)}` }, x.name)), h('td', {}, x.accepted ? state('accepted') : x.current ? state(liveState('running'), 'current') : ''), h('td', {}, h('button', { type: 'button', onclick: () => act(`${x.name} is queued`, () => send('/api/inbox', { spec: x.name })) }, 'Queue')))))) : empty('ralph/specs/ has no markdown file yet.')),
      past.length > 0 && panel('History', null, h('div', { class: 'scroll' }, h('table', {}, h('tbody', {}, past.slice(0, 100).map(line))))))));
}

async function drawSpec(main, old) {
  const spec = await api(`/api/specs/${argument.split('/').map(encodeURIComponent).join('/')}`);
  if (old()) return;
  show(main, h('div', { class: 'sub' }, h('a', { href: '#specs' }, '← Specs')), panel(spec.name, `${spec.boxes.filter((b) => b.ticked).length} of ${spec.boxes.length} boxes`, markdown(spec.text)));
}

// ---- Memory ----------------------------------------------------------------------------------

const texts = (title, items, words) => (items && items.length ? [h('label', {}, title), h('ul', {}, items.map((x) => h('li', {}, typeof x === 'string' ? x : words(x))))] : '');
const behind = (text, more) => (more ? `${text}: ${more}` : text);

function handoffBody(x) {
  const claim = x.task_completed;
  return h('div', { class: 'handoff' }, h('p', {}, h('strong', {}, x.summary)), x.freeform && x.freeform !== x.summary && h('p', {}, x.freeform),
    claim && h('p', { class: 'dim' }, 'The agent says that ', taskLink(claim.task_id), claim.fully_complete ? ' is complete.' : ' is not complete yet.'),
    x.no_change_needed && h('p', {}, `No change was needed: ${x.no_change_needed}`),
    x.request_human_review && x.request_human_review.needed && h('p', { class: 'bad' }, `Asks a person: ${x.request_human_review.reason}`),
    texts('Design', x.architectural_notes),
    texts('Differs from the plan', x.deviations, (d) => `${d.planned} → ${behind(d.actual, d.reason)}`),
    texts('Unfinished', x.unfinished_business, (u) => behind(u.item, u.reason)),
    texts('Limits found', x.constraints_discovered, (c) => [behind(c.constraint, c.impact), c.workaround && `; ${c.workaround}`]),
    texts('Bugs', x.bugs_encountered, (b) => `${b.resolved ? '' : 'open: '}${behind(b.description, b.resolution)}`),
    texts('Tests', x.tests_added, (a) => behind(a.file, (a.test_names || []).join(', '))),
    texts('Proposed changes of the plan', x.plan_amendments, (a) => [behind(`${a.action}${a.task_id ? ` ${a.task_id}` : ''}${a.task && a.task.name ? ` ${a.task.name}` : ''}`, a.reason)]),
    texts('Advice', x.recommendations), texts('To look up', x.request_research),
    texts('Files', x.files_touched, (f) => [h('code', {}, f.path), ` ${f.action}`]));
}

async function drawMemory(main, old) {
  // What is shown stays when newer ones come.
  const had = [...main.querySelectorAll('[data-handoff]')].map((node) => Number(node.dataset.handoff));
  const oldest = Math.min(...had);
  const [memory, handoffs] = await Promise.all([api('/api/memory'), api(`/api/handoffs?limit=${Math.min(500, had.length + 20)}`)]);
  if (old()) return;
  const shown = handoffs.handoffs.filter((x, n) => n < 20 || x.number >= oldest);
  const item = (k) => h('li', {}, h('span', { class: 'mono dim' }, k.id || '–'), ' ', h('span', { class: k.status === 'active' ? '' : 'gone' }, k.text), k.status !== 'active' && h('p', {}, `– ${k.status}${k.by ? ` by ${k.by}` : ''}`), k.sources.length > 0 && h('p', {}, `from iteration ${k.sources.join(', ')}`));
  const active = memory.knowledge.filter((k) => k.status === 'active').length;
  const files = (e) => (e.files_changed || []).map((f) => f.path || f).join(', ');
  show(main, h('div', { class: 'grid half' },
    h('div', { class: 'stack' },
      memory.notes.length > 0 && panel('Notes for the next prompt', null, h('ul', {}, memory.notes.map((n) => h('li', {}, n)))),
      panel('Handoffs', `${handoffs.total} in all`, shown.length ? shown.map((x, n) => h('details', { open: n === 0, key: x.number, 'data-handoff': x.number }, h('summary', {}, h('span', { class: 'mono dim' }, `#${x.number}`), ` ${x.handoff.summary}`), handoffBody(x.handoff))) : empty('No attempt has handed anything over yet.'))),
    h('div', { class: 'stack' },
      panel('Knowledge index', `${active} in force, ${memory.knowledge.length - active} superseded`, memory.damage && h('p', { class: 'bad' }, memory.damage), memory.knowledge.length ? h('ul', { class: 'needs' }, memory.knowledge.map(item)) : empty('Nothing is indexed yet: mode = "handoff-plus-index" keeps an index.')),
      panel('Progress log', `${memory.progress_total} entries`, memory.progress.length ? h('ul', { class: 'needs' }, memory.progress.map((e) => h('li', {}, state(e.fully_complete ? 'accepted' : 'partial', ' '), taskLink(e.task_id), ` ${e.summary}`, h('p', {}, `${day(e.timestamp)} · iteration ${e.iteration}${files(e) ? ` · ${files(e)}` : ''}`)))) : empty('Landed work is logged here.')))));
}

// ---- Timeline and numbers --------------------------------------------------------------------

function chart(points, read, words, limit) {
  if (points.length < 2) return empty('Two attempts make a curve.');
  const [w, hgt, left, bottom] = [560, 150, 52, 18];
  const xs = points.map((p) => +new Date(p.at)); const ys = points.map(read[0]);
  const x0 = Math.min(...xs); const x1 = x0 + (Math.max(...xs) - x0) * 1.05; const top = Math.max(...ys, limit && limit < Math.max(...ys) * 3 ? limit : 0, 1e-9) * 1.08;
  const x = (v) => left + ((v - x0) / Math.max(1, x1 - x0)) * (w - left - 8); const y = (v) => hgt - bottom - (v / top) * (hgt - bottom - 8);
  const line = (get) => points.map((p, n) => `${n ? 'H' : 'M'}${x(xs[n]).toFixed(1)}${n ? ` V${y(get(p)).toFixed(1)}` : `,${y(get(p)).toFixed(1)}`}`).join(' ') + ` H${x(x1).toFixed(1)}`;
  const svg = s('svg', { viewBox: `0 0 ${w} ${hgt}`, role: 'img', 'aria-label': words[0] });
  for (const part of [0, 0.5, 1]) { const v = (top / 1.08) * part; svg.append(s('line', { class: 'axis', x1: left, x2: w - 8, y1: y(v), y2: y(v) }), s('text', { x: left - 5, y: y(v) + 4, 'text-anchor': 'end' }, words[1](v))); }
  if (limit && limit <= top) svg.append(s('line', { class: 'limit', x1: left, x2: w - 8, y1: y(limit), y2: y(limit) }), s('text', { x: w - 10, y: y(limit) - 4, 'text-anchor': 'end' }, `budget ${words[1](limit)}`));
  svg.append(s('path', { class: 'area', d: `${line(read[0])} V${y(0)} H${x(x0)} Z` }), s('path', { class: 'curve', d: line(read[0]) }));
  if (read[1]) svg.append(s('path', { class: 'second', d: line(read[1]) }));
  const when = x1 - x0 < 3600e3 ? clock : day;
  svg.append(s('text', { x: left, y: hgt - 4 }, when(points[0].at)), s('text', { x: w - 8, y: hgt - 4, 'text-anchor': 'end' }, when(points[points.length - 1].at)));
  return svg;
}

function bars(rows, unit) {
  if (!rows.length) return empty('Nothing to show yet.');
  const most = Math.max(...rows.map(([, n]) => n));
  return h('table', {}, h('tbody', {}, rows.map(([name, n]) => h('tr', {}, h('td', {}, name), h('td', { class: 'grow' }, bar(n / most)), h('td', { class: 'n' }, unit(n))))));
}

function gantt(spans, now) {
  if (!spans.length) return empty('Stages, attempts and waits appear here as they happen.');
  const lanes = ['run', 'stage', 'attempt', 'consult', 'wait'].filter((k) => spans.some((x) => x.kind === k));
  // What a killed loop left open ended with its last event, as far as anybody knows.
  const last = know.events[know.events.length - 1];
  const open = crashed() && last ? last.timestamp : now;
  const t = (at) => +new Date(at || open); const [w, left, row] = [1200, 70, 26];
  const x0 = Math.min(...spans.map((x) => t(x.from))); const x1 = Math.max(...spans.map((x) => t(x.to)));
  const x = (v) => left + ((v - x0) / Math.max(1000, x1 - x0)) * (w - left - 6); const hgt = lanes.length * row + 22;
  const svg = s('svg', { viewBox: `0 0 ${w} ${hgt}`, role: 'img', 'aria-label': 'When what ran' });
  lanes.forEach((k, n) => svg.append(s('text', { x: 0, y: n * row + 17 }, k === 'consult' ? 'agents' : `${k}s`), s('line', { class: 'axis', x1: left, x2: w, y1: n * row + 24, y2: n * row + 24 })));
  for (const part of [0, 0.25, 0.5, 0.75, 1]) { const v = x0 + (x1 - x0) * part; svg.append(s('text', { x: x(v), y: hgt - 2, 'text-anchor': part === 0 ? 'start' : part === 1 ? 'end' : 'middle' }, clock(new Date(v)))); }
  for (const sp of spans) {
    const [a, b, lane] = [x(t(sp.from)), x(t(sp.to)), lanes.indexOf(sp.kind)];
    const kind = sp.kind === 'run' || sp.kind === 'wait' ? sp.kind : sp.result || (crashed() ? 'lost' : 'open');
    const wide = Math.max(2, b - a - 1);
    const words = `${sp.label} ${sp.result || (crashed() ? 'interrupted by the crash' : 'running')}, ${span((t(sp.to) - t(sp.from)) / 1000)}`;
    const rect = s('g', {}, s('title', {}, words), s('rect', { class: `fill-${kind}`, x: a, y: lane * row + 5, width: wide, height: 15, rx: 2 }), kind === 'failed' && wide > 8 && s('path', { class: 'axis', d: `M${a + 2},${lane * row + 18} L${a + 12},${lane * row + 7}` }));
    svg.append(sp.kind === 'attempt' ? s('a', { href: `#attempt/${sp.id}`, key: sp.id }, rect) : rect);
    if (wide > sp.label.length * 6.2 + 8 && sp.kind === 'run') svg.append(s('text', { x: a + 5, y: lane * row + 17 }, sp.label));
  }
  return h('div', { class: 'scroll' }, svg, h('p', { class: 'legend' }, [['good', 'landed'], ['bad', 'did not land (with a stroke)'], !crashed() && ['hot', 'running'], ['dim', 'interrupted or ended by somebody, or a wait']].filter(Boolean).map(([kind, words]) => h('span', {}, h('span', { class: kind, 'aria-hidden': 'true' }, '■'), ` ${words}`))));
}

async function drawTimeline(main, old) {
  const [n, attempts] = await Promise.all([api('/api/numbers?limit=200'), api('/api/attempts?limit=100')]);
  if (old()) return;
  const rate = n.tasks_tried ? Math.round((n.first_try / n.tasks_tried) * 100) : null;
  const worked = n.backend_s + n.gates_s;
  const group = (rows, name) => h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, [name, 'Runs', 'Landed', 'Time', 'Tokens in / out', 'Cost'].map((x, i) => h('th', { class: i ? 'n' : '' }, x)))), h('tbody', {}, rows.map((g) => h('tr', { key: g.name }, h('td', { class: 'grow' }, g.name), h('td', { class: 'n' }, g.count), h('td', { class: 'n' }, g.landed || '–'), h('td', { class: 'n' }, took(g.duration_ms)), h('td', { class: 'n' }, `${tokens(g.tokens_in)} / ${tokens(g.tokens_out)}`), h('td', { class: 'n' }, g.cost_words))))));
  const log = h('div', { class: 'stream', id: 'events', tabindex: '0', 'aria-label': 'Events, newest first' }, eventNodes());
  show(main,
    h('div', { class: 'grid five' },
      tile('First try', rate === null ? '–' : `${rate} %`, '', `${n.first_try} of ${plural(n.tasks_tried, 'task')} done at once`),
      tile('Attempts', `${n.attempts}`, '', `${n.landed} landed, ${n.partial} in part, ${n.failed} failed`, n.uncounted ? `${n.uncounted} did not count` : ''),
      tile('Retries', `${n.retries}`, '', n.tasks_tried ? `${(n.retries / n.tasks_tried).toFixed(1)} a task` : ''),
      tile('Cost', n.cost_words, '', n.landed && !n.cost_unknown ? `${usd(n.cost_usd / n.landed)} a finished task` : ''),
      tile('Time', span(worked), '', worked ? `${Math.round((n.backend_s / worked) * 100)} % backend, the rest gates and git` : '')),
    h('div', { class: 'stack-top' }, panel('When what ran', null, gantt(n.timeline, n.now))),
    h('div', { class: 'grid half stack-top' },
      panel('Cost over time', 'dollars, added up', chart(n.curve, [(p) => p.cost_usd], ['Cost over time', usd], know.state && know.state.cost.limit_usd)),
      panel('Tokens over time', 'in (line), out (dashes)', chart(n.curve, [(p) => p.tokens_in, (p) => p.tokens_out], ['Tokens over time', (v) => tokens(Math.round(v))])),
      panel('Why attempts failed', null, n.failures.length ? bars(n.failures, (x) => plural(x, 'time')) : empty('None failed.')),
      panel('Tries a finished task took', null, bars(n.attempts_per_task.map(([k, v]) => [plural(k, 'try').replace('trys', 'tries'), v]), (x) => plural(x, 'task'))),
      n.models.length > 0 && panel('By backend and model', null, group(n.models, 'Backend')),
      n.stages.length > 0 && panel('By stage', null, group(n.stages, 'Stage'))),
    h('div', { class: 'grid half stack-top' }, panel('Attempts', `${attempts.total} in all`, attemptTable(attempts.attempts)),
      panel('Events', h('button', { type: 'button', class: 'plain', onclick: olderEvents }, 'older'), log)));
}

const eventNode = (e) => h('div', { class: 'item row', 'data-event': e.id, key: e.id }, h('span', { title: e.timestamp }, clock(e.timestamp)), h('div', {}, h('code', {}, e.event), ' ', e.message, e.metadata && e.metadata.task_id && [' ', taskLink(e.metadata.task_id)]));

const eventNodes = () => (know.events.length ? know.events.slice().reverse().map(eventNode) : empty('No event yet.'));

function gotEvent(event) {
  if (know.last !== null && event.id <= know.last) return;
  know.last = event.id;
  know.events.push(event);
  if (know.events.length > 2000) know.events.splice(0, 500);
}

async function olderEvents() {
  const before = know.events.length ? know.events[0].id : know.last + 1;
  const page = await api(`/api/events?before=${before}&limit=200`);
  know.events = page.events.concat(know.events);
  draw();
  if (!page.events.length) toast('There are no older events.');
}

// ---- Controls --------------------------------------------------------------------------------

// What a setting can be, or the unit of its number.
const CHOICES = {
  gate_strategy: [['strict', 'lenient', 'tests_only'], ''], mode: [['handoff-only', 'handoff-plus-index', 'agent-orchestrated'], ''],
  'memory.compaction_interval': [null, 'iterations'], 'memory.compaction_threshold_bytes': [null, 'bytes'], max_turns: [null, 'turns'], min_delay: [null, 'ms, s, m or h'],
};

async function drawControls(main, old) {
  const page = await api('/api/settings').catch((e) => ({ settings: [], problem: e.message }));
  if (old()) return;
  const running = Boolean(know.state && know.state.loop.pid);
  const order = (command) => act('Sent', () => send('/api/command', { command }));
  const tell = (command, words) => h('button', { type: 'button', id: `do-${command}`, disabled: !running, onclick: () => order(command) }, words);
  const careful = (command, words, question) => h('button', { type: 'button', id: `do-${command}`, disabled: !running, class: 'danger', onclick: async () => { if (await confirmed(question, words)) order(command); } }, words);
  const note = h('textarea', { id: 'note', maxlength: 4000, placeholder: 'For example: the parser lives in src/parse.rs, do not add a second one' });
  const say = () => act('Sent', async () => {
    const told = await send('/api/command', { command: 'inject-note', note: $('note').value });
    forgetTyped('note');
    if ($('note')) $('note').value = '';
    return told;
  });
  const setting = (x) => {
    const [words, unit] = CHOICES[x.key] || [null, ''];
    const input = words ? h('select', { id: `set-${x.key}` }, words.map((w) => h('option', { selected: w === x.value }, w)))
      : h('input', { id: `set-${x.key}`, value: x.value || '', autocomplete: 'off', placeholder: 'no limit' });
    const set = () => act(x.key, async () => { const told = await send('/api/settings', { [x.key]: $(input.id).value }); forgetTyped(input.id); return told; });
    return h('tr', { key: x.key }, h('td', { class: 'grow' }, h('label', { for: `set-${x.key}`, class: 'mono' }, x.key), h('div', { class: 'dim' }, x.about)), h('td', {}, input, h('div', { class: 'dim' }, `${unit ? `${unit} · ` : ''}${x.origin}`)),
      h('td', {}, h('button', { type: 'button', 'aria-label': `Set ${x.key}`, onclick: set }, 'Set')));
  };
  show(main, h('div', { class: 'grid half' },
    h('div', { class: 'stack' },
      panel('The loop', know.state && state(know.state.loop.status), h('p', {}, know.state ? know.state.loop.words : '', know.state && know.state.loop.stopping ? ' It ends after what runs now.' : ''), !running && h('p', { class: 'dim' }, 'No loop runs now, so there is nothing to pause or to stop. Start one in a terminal: ralph build, ralph construct or ralph agent. Notes and settings wait for it.'),
        h('div', { class: 'buttons' }, tell('pause', 'Pause'), tell('resume', 'Resume'),
          careful('stop', 'Stop', 'Stop the loop after the current attempt? Work that landed stays.'),
          careful('kill-attempt', 'Kill attempt', 'End the current attempt now? Its work is kept aside (salvage).'))),
      panel('A note for the next prompt', null, note, h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', id: 'do-note', onclick: say }, 'Send note'))),
      panel('One task', null, h('p', { class: 'dim' }, 'Skip and retry are on each task’s page.'), h('a', { href: '#plan' }, 'Choose one in the plan'))),
    panel('Settings', 'ralph.toml', page.problem ? h('p', { class: 'bad' }, page.problem) : h('table', { class: 'settings' }, h('tbody', {}, page.settings.map(setting))), h('p', { class: 'dim' }, 'Comments and order in the file stay. A loop that runs takes them with its next attempt.'))));
}

// ---- drawing and staying up to date ----------------------------------------------------------

const PANES = { now: drawNow, plan: drawPlan, task: drawTask, attempt: drawAttempt, specs: drawSpecs, spec: drawSpec, memory: drawMemory, timeline: drawTimeline, controls: drawControls };
const TAB = { task: 'plan', attempt: 'timeline', spec: 'specs' };
let drawing = 0;

async function draw() {
  const mine = ++drawing;
  const old = () => mine !== drawing;
  const main = $('main');
  try {
    await PANES[pane](main, old);
  } catch (error) {
    // Without an answer what is shown stays; the banner tells how old it is.
    if (old() || (!error.answered && main.dataset.pane === pane)) return;
    show(main, h('div', { class: 'problem' }, state('failed', 'This could not be shown'), `: ${error.message}`), h('p', {}, h('a', { href: '#now' }, 'What runs now')));
  }
  if (!old()) main.dataset.pane = pane;
}

function route() {
  const [name, ...rest] = (location.hash.slice(1) || 'now').split('/');
  const before = pane + argument;
  pane = PANES[name] ? name : 'now';
  try { argument = decodeURIComponent(rest.join('/')); } catch (error) { argument = ''; }
  know.settled = null;
  if (before !== pane + argument) {
    show($('main'), empty('Loading…'));
    delete $('main').dataset.pane;
    window.scrollTo(0, 0);
  }
  document.querySelectorAll('.tabs a').forEach((a) => (a.dataset.pane === (TAB[pane] || pane) ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current')));
  // On a phone the tabs scroll; the one that is shown must be seen.
  const here = document.querySelector('.tabs a[aria-current]');
  if (here) here.parentNode.scrollLeft = Math.max(0, here.offsetLeft - 60);
  draw();
}

let timer = null;
let busy = false;
// Many events come at once: one look for all of them.
function refresh() {
  if (timer) return;
  timer = setTimeout(async () => {
    timer = null;
    if (busy) return refresh();
    busy = true;
    try {
      await loadState();
      await pullStream();
      // An attempt that has ended does not change any more.
      if (pane !== 'attempt' || !know.settled) await draw();
    } catch (error) { /* the banner tells */ }
    busy = false;
  }, 120);
}

async function loadState() {
  const now = await api('/api/state');
  know.state = now;
  know.skew = Date.now() - new Date(now.now);
  drawTop();
}

// ---- whether the server answers --------------------------------------------------------------

let source = null;
// When something was heard last, how long a silence may be, and when it was last tried to end it.
const link = { heard: Date.now(), limit: 8000, tried: 0 };

function listen() {
  if (source) source.close();
  link.tried = Date.now();
  source = new EventSource(know.last === null ? '/api/events' : `/api/events?after=${know.last}`);
  const on = (name, react) => source.addEventListener(name, (m) => { heard(); react(JSON.parse(m.data)); });
  on('hello', (hello) => {
    if (know.last === null) know.last = hello.last;
    link.limit = (2 * hello.heartbeat_s + 2) * 1000;
    refresh();
  });
  on('beat', () => {});
  on('journal', (event) => { gotEvent(event); refresh(); });
  on('changed', refresh);
  on('reset', ({ last }) => { know.events = []; know.last = last; know.stream = { id: null, items: [], next: null }; refresh(); });
  source.onerror = () => {
    silence('not connected');
    // A browser may give up by itself; where it was is known.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 1000);
  };
}

function heard() {
  link.heard = Date.now();
  know.silent = false;
  show($('link'), state('accepted', 'live'));
  $('silence').hidden = true;
}

function silence(words) {
  know.silent = true;
  show($('link'), state('stopped', words));
  show($('silence'), state('stopped', words === 'not connected' ? 'The server is not there.' : 'The server does not answer.'),
    ` What is shown is from ${clock(new Date(link.heard))}. If ralph serve has ended, start it again; loops run on without it.`);
  $('silence').hidden = false;
  drawTop();
}

// A connection can stay open with nobody at its other end.
function checkSilence() {
  if (document.hidden || Date.now() - link.heard < link.limit) return;
  if (!know.silent) silence('no answer');
  if (Date.now() - link.tried > link.limit) listen();
}

async function start() {
  const theme = localStorage.getItem('ralph-theme');
  if (theme) document.documentElement.dataset.theme = theme;
  $('theme').onclick = () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
    localStorage.setItem('ralph-theme', document.documentElement.dataset.theme);
  };
  setInterval(() => { checkSilence(); tick(); }, 1000);
  addEventListener('hashchange', route);
  addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /INPUT|TEXTAREA|SELECT/.test(e.target.tagName)) return;
    const panes = ['now', 'plan', 'specs', 'memory', 'timeline', 'controls'];
    if (panes[e.key - 1]) location.hash = panes[e.key - 1];
    else if (e.key === 't') $('theme').click();
  });
  // A browser has few connections to one server: a tab that nobody looks at gives its own back.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return source && source.close();
    link.heard = Date.now();
    listen();
  });
  try {
    await loadState();
    const page = await api('/api/events?limit=100');
    know.events = page.events;
    know.last = page.last;
  } catch (error) { show($('main'), h('div', { class: 'problem' }, `The server does not answer as it should: ${error.message}`)); }
  listen();
  await pullStream();
  route();
}

start();
