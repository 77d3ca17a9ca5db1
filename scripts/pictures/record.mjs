/**
 * Records a run of `pawl` in a shell on a pseudo-terminal, as frames: what the screen shows, and for how long.
 *
 * A frame lasts longer in the picture than in the recording, so that a person can read it.
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";

const columns = 106;
const rows = 30;
const keysAtOnce = 5;
const patienceMs = 30_000;
/** How long a frame is shown. */
const shown = { typing: 70, output: 320, pause: 1_600, end: 5_000 };
/** The name of the recorded folder in the picture. */
const folderInPicture = "/home/ada/pawl";
/** What the recorded folder has of this one: the files that the command is about. */
const sample = "examples/incident";

/** The shell waits for a command. */
const prompt = /(^|\n)\$$/;
/** The first command of the README, without `npx`. */
const [request] = /(?<=npx )pawl run ".+"$/m.exec(readFileSync("README.md", "utf8"));

/** @returns frames `{ rows, ms }`: a row is a list of `{ text, style }`, and `style` is a list of class names */
export async function recordRun() {
  const base = mkdtempSync(join(tmpdir(), "pawl-picture-"));
  const clone = join(base, "pawl");
  try {
    const shell = openShell(base, clone);
    await shell.sees(prompt);
    await shell.types(request);
    await shell.enter();
    await shell.sees("Allow");
    shell.pause();
    process.kill(Number(readFileSync(join(base, "pid"), "utf8")), "SIGKILL");
    await shell.sees("Killed");
    shell.pause();
    const [, session] = /Session ([0-9a-f]+) in/.exec(shell.screen());
    await shell.types(`pawl resume ${session}`);
    await shell.enter();
    await shell.seesAgain("Allow");
    shell.pause();
    await shell.types("y");
    await shell.enter();
    await shell.seesAgain("session ");
    await shell.sees(prompt);
    return shell.close();
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

function openShell(base, clone) {
  cpSync(sample, join(clone, sample), { recursive: true });
  mkdirSync(join(base, "bin"));
  const command = join(base, "bin/pawl");
  const program = resolve("dist/cli/main.js");
  writeFileSync(
    command,
    `#!/bin/sh\necho $$ > '${base}/pid'\nexec '${process.execPath}' --no-warnings '${program}' "$@"\n`,
  );
  chmodSync(command, 0o755);

  const terminal = new headless.Terminal({ allowProposedApi: true, cols: columns, rows, scrollback: 1_000 });
  const nowhere = "http://127.0.0.1:9/v1";
  const child = spawn("bash", ["--noprofile", "--norc", "-i"], {
    name: "xterm-256color",
    cols: columns,
    rows,
    cwd: clone,
    env: {
      PATH: `${join(base, "bin")}:${process.env.PATH}`,
      HOME: base,
      PAWL_HOME: join(base, "home"),
      TERM: "xterm-256color",
      PS1: "$ ",
      LANG: "C.UTF-8",
      OLLAMA_BASE_URL: nowhere,
      LLAMACPP_BASE_URL: nowhere,
      LMSTUDIO_BASE_URL: nowhere,
      VLLM_BASE_URL: nowhere,
    },
  });
  const frames = [];
  const listeners = new Set();
  let from = 0;
  let ms = shown.output;
  child.onData((data) =>
    terminal.write(data, () => {
      addFrame();
      for (const listener of listeners) listener();
    }),
  );

  function addFrame() {
    const next = { rows: readRows(terminal, clone), ms };
    const last = frames.at(-1);
    if (last !== undefined && JSON.stringify(last.rows) === JSON.stringify(next.rows)) return;
    frames.push(next);
  }

  /** All text from the first line on. */
  function screen() {
    return textOfRows(linesFrom(terminal, 0, clone));
  }

  function until(holds, what) {
    return new Promise((done, failed) => {
      const limit = setTimeout(() => failed(new Error(`Waited in vain for ${what}:\n${screen()}`)), patienceMs);
      const check = () => {
        if (!holds(screen())) return;
        listeners.delete(check);
        clearTimeout(limit);
        done();
      };
      listeners.add(check);
      check();
    });
  }

  return {
    screen,
    sees: (what) => until((text) => (what instanceof RegExp ? what.test(text) : text.includes(what)), what),
    /** Waits for a text below what the screen had when a line was last entered. */
    seesAgain: (what) => until((text) => text.slice(from).includes(what), what),
    async types(text) {
      ms = shown.typing;
      for (let at = 0; at < text.length; at += keysAtOnce) {
        const end = at + keysAtOnce;
        child.write(text.slice(at, end));
        const typed = text.slice(0, end).trimEnd();
        await until((now) => now.endsWith(typed), typed);
      }
    },
    async enter() {
      frames.at(-1).ms = shown.output * 2;
      ms = shown.output;
      from = screen().length;
      child.write("\r");
    },
    pause() {
      frames.at(-1).ms = shown.pause;
    },
    close() {
      frames.at(-1).ms = shown.end;
      child.kill("SIGKILL");
      terminal.dispose();
      return frames;
    },
  };
}

/** The rows of the screen, without empty ones at the end. */
function readRows(terminal, clone) {
  const { baseY } = terminal.buffer.active;
  return linesFrom(terminal, baseY, clone);
}

function linesFrom(terminal, first, clone) {
  const buffer = terminal.buffer.active;
  const count = buffer.baseY + rows - first;
  const found = Array.from({ length: count }, (_, at) => readRow(buffer.getLine(first + at), clone));
  while (found.at(-1)?.length === 0) found.pop();
  return found;
}

/** The runs of cells with one style. */
function readRow(line, clone) {
  const parts = [];
  for (let column = 0; column < columns; column++) {
    const cell = line.getCell(column);
    const style = styleOf(cell);
    const text = cell.getChars() || " ";
    const last = parts.at(-1);
    if (last?.style === style) last.text += text;
    else parts.push({ text, style });
  }
  const end = parts.at(-1);
  if (end.style === "") end.text = end.text.trimEnd();
  return parts
    .filter(({ text }) => text !== "")
    .map(({ text, style }) => ({ text: text.replaceAll(clone, folderInPicture), style }));
}

function styleOf(cell) {
  const names = [];
  if (cell.isBold()) names.push("bold");
  if (cell.isDim()) names.push("dim");
  if (cell.isFgPalette()) names.push(`c${cell.getFgColor()}`);
  return names.join(" ");
}

function textOfRows(found) {
  return found.map((row) => row.map(({ text }) => text).join("")).join("\n");
}
