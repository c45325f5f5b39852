// What the browser tests share: a project, a loop on it, a server, and a page that is watched.
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
export const RALPH = process.env.RALPH_BIN;
const BROWSER = process.env.CHROMIUM || '/usr/bin/chromium';
const started = [];

export function project(pace = '1s') {
  const dir = join(mkdtempSync(join(tmpdir(), 'ralph-web-')), 'calculator');
  execFileSync('sh', [join(here, 'fixture.sh'), RALPH, dir, pace], { stdio: 'inherit' });
  return dir;
}

export function ralph(dir, ...args) {
  const env = { ...process.env, RALPH_SIM: join(dir, 'scenario.toml') };
  const child = spawn(RALPH, args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.text = '';
  child.stdout.on('data', (d) => { child.text += d; });
  child.stderr.on('data', (d) => { child.text += d; });
  started.push(child);
  return child;
}

export async function serve(dir, port = 0) {
  const child = ralph(dir, 'serve', '--json', '--port', String(port));
  await until(() => child.text.includes('\n'), 'the server to start');
  const { link, address } = JSON.parse(child.text.split('\n')[0]);
  return { child, link, address, port: Number(new URL(address).port) };
}

export async function until(check, what, limit = 120000) {
  const end = Date.now() + limit;
  for (;;) {
    try { const value = await check(); if (value) return value; } catch (error) { if (Date.now() > end) throw error; }
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((r) => setTimeout(r, 50));
  }
}

export const stop = (child) => new Promise((resolve) => {
  if (child.exitCode !== null || child.signalCode !== null) return resolve();
  // A loop waits for its attempt at the first signal, and not at the second.
  const again = setInterval(() => child.kill('SIGTERM'), 1000);
  child.on('exit', () => { clearInterval(again); resolve(); });
  child.kill('SIGTERM');
});

let browser = null;
const launch = () => chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
export async function page(link, options = {}) {
  browser = browser || launch();
  const context = options.context || await (await browser).newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const tab = await context.newPage();
  // While the page is being worked on: its files from the disk instead of from the binary.
  if (process.env.RALPH_ASSETS) {
    for (const name of ['app.js', 'patch.js', 'app.css']) await tab.route(`**/${name}`, (route) => route.fulfill({ path: join(process.env.RALPH_ASSETS, name) }));
  }
  tab.complaints = [];
  tab.elsewhere = [];
  tab.on('console', (m) => { if (m.type() === 'error' && !/ERR_CONNECTION|Failed to load resource|ERR_INCOMPLETE|ERR_EMPTY/.test(m.text())) tab.complaints.push(m.text()); });
  tab.on('pageerror', (e) => tab.complaints.push(String(e)));
  tab.on('request', (r) => { if (!r.url().startsWith(new URL(link).origin) && !r.url().startsWith('data:')) tab.elsewhere.push(r.url()); });
  await tab.goto(link);
  await tab.waitForSelector('#main[data-pane]');
  return tab;
}

export async function end() {
  if (browser) await (await browser).close();
  for (const child of started) if (child.exitCode === null) child.kill('SIGKILL');
}

export const go = async (tab, address, pane) => { await tab.goto(`${address}#${pane}`); await tab.waitForSelector(`#main[data-pane=${pane.split('/')[0]}]`); };
export const api = async (tab, server, path) => (await tab.request.get(`${server.address}api/${path}`)).json();
export const read = (dir, file) => readFileSync(join(dir, file), 'utf8');
export const remove = (dir) => rmSync(dirname(dir), { recursive: true, force: true });
