#!/usr/bin/env node
// Starts the ralph of this machine. Nothing is downloaded: the package carries it.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const machine = `${process.platform}-${process.arch}`;
const program = path.join(__dirname, "..", "vendor", machine, "ralph");
if (!fs.existsSync(program)) {
  const hint = process.platform === "win32" ? "; on Windows, use WSL" : "";
  console.error(`error: this package has no ralph for ${machine}${hint}`);
  process.exit(1);
}
const args = process.argv.slice(2);

// A newer node can step aside altogether, so that signals and the terminal are ralph's own.
if (typeof process.execve === "function") {
  process.removeAllListeners("warning");
  process.on("warning", () => {});
  process.execve(program, [program, ...args], process.env);
}

const { spawn } = require("node:child_process");
const child = spawn(program, args, { stdio: "inherit" });
// Ctrl-C reaches ralph by the terminal; what is sent to this process alone is handed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
