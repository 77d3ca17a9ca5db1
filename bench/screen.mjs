/**
 * What the conversation's screen writes and costs: bytes of a frame while an answer streams, bytes of a tick of the spinner, and the time
 * and memory of an output of 100,000 lines, beside a plain pass over the same text. It looks into the build (temp/build).
 */
import { renderRegion } from "../temp/build/cli/conversation/fronts/live-region.js";
import { createView } from "../temp/build/cli/conversation/view/view.js";
import { emptyDraft } from "../temp/build/cli/screen/draft.js";
import { createScreen } from "../temp/build/cli/screen/screen.js";
import { createStyleText } from "../temp/build/cli/terminal/text-style.js";

const [columns, rows] = [80, 24];
const start = 1_000_000;
const calm = {
  draft: emptyDraft,
  hints: [],
  answering: { mode: "choose" },
  isOnQuestion: false,
  picker: null,
  isLeaving: false,
};

export async function run({ quick, json }) {
  const figures = { ...streaming(quick ? 100 : 400), ...spinner(), ...largeOutput(quick ? 10_000 : 100_000) };
  if (json) return console.log(JSON.stringify(figures));
  console.log(
    `bytes of a frame while text streams   ${figures.frameMean} on average, ${figures.frameMost} at most (${figures.frames} frames)`,
  );
  console.log(`bytes of a tick of the spinner        ${figures.tick}`);
  console.log(
    `an output of ${figures.lines} lines         ${figures.ratio} times a plain pass, ${figures.megabytes} MB in all`,
  );
}

function createStage() {
  const written = [];
  const output = { columns, rows, write: (text) => written.push(text) > 0, onDrain() {} };
  const screen = createScreen(output, createStyleText({ isTTY: true }, {}));
  const view = createView();
  const draw = (now) => {
    screen.commit(view.takeHistory());
    screen.show(renderRegion({ ...calm, view }, columns, rows, now));
    screen.drawNow();
  };
  let seq = 0;
  const showEvent = (body) => {
    seq += 1;
    view.show({ ...body, runId: "r", sessionId: "s", seq, index: 1, at: start }, columns, start);
  };
  showEvent({ type: "run_started", input: [{ role: "user", parts: [{ type: "text", text: "go" }] }] });
  return { written, view, draw, showEvent };
}

/** A frame for each word, as if each came behind the time of a frame. */
function streaming(updates) {
  const { written, view, draw } = createStage();
  const step = { runId: "r", modelCallIndex: 1, attempt: 1 };
  const words = "Some **words** of an answer that is wrapped, with `code` and a list:\n\n- one\n- two\n\n".split(
    /(?<= )/,
  );
  written.length = 0;
  for (let at = 0; at < updates; at += 1) {
    view.show(
      { type: "delta", delta: { ...step, seq: at + 1, kind: "text-delta", id: "t", text: words[at % words.length] } },
      columns,
      start,
    );
    draw(start + at * 40);
  }
  const sizes = written.map((text) => Buffer.byteLength(text));
  const frameMean = Math.round(sizes.reduce((sum, size) => sum + size, 0) / sizes.length);
  return { frames: sizes.length, frameMean, frameMost: Math.max(...sizes) };
}

function spinner() {
  const { written, draw } = createStage();
  draw(start);
  written.length = 0;
  draw(start + 120);
  return { tick: Buffer.byteLength(written.join("")) };
}

function largeOutput(lines) {
  const { draw, showEvent } = createStage();
  const text = Array.from({ length: lines }, (_, at) => `line ${at} of an output with some words in it`).join("\n");
  const plain = timed(() => text.split("\n").map((line) => line.replace(/[\x00-\x1f]/g, "")).length);
  const call = { callKey: "r/1/1", name: "shell" };
  const shown = timed(() => {
    showEvent({ ...call, type: "tool_call", input: { command: "long" } });
    showEvent({ ...call, type: "tool_result", status: "ok", output: { type: "text", text } });
    showEvent({ ...call, type: "call_complete", status: "ok", durationMs: 5 });
    draw(start);
  });
  const megabytes = Math.round(process.memoryUsage().rss / 1e6);
  return { lines, ratio: Number((shown / Math.max(plain, 0.1)).toFixed(1)), megabytes };
}

function timed(work) {
  const began = performance.now();
  work();
  return performance.now() - began;
}
