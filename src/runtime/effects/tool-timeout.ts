/**
 * The time limit of a tool call, and of a stream of results that it gives.
 */
import type { AnyTool } from "../../ports/tool.js";
import { type Cancellation, getSignal, onCancel } from "../lib/cancellation.js";
import { isThenable } from "../lib/coroutine.js";
import { forgetPreliminary, publishPreliminary } from "../subscribers/broadcast.js";
import type { EffectContext } from "../work/effect-context.js";
import { toolTimedOut } from "./prompts.js";
import type { ToolWork } from "./tool-context.js";
import { isStream, readStream, type StreamReading } from "./tool-stream.js";

/** How long a call of a tool may take that sets no limit. */
export const defaultToolTimeoutMs = 600_000;

/** Ends the wait for a tool when its time is up. A tool that looks at its signal ends too; another one may still be running. */
export function withTimeout(
  tool: AnyTool,
  callKey: string,
  context: EffectContext,
  cancellation: Cancellation,
  run: (signal: () => AbortSignal) => unknown,
  work: ToolWork,
): unknown {
  const timeoutMs = tool.timeoutMs ?? defaultToolTimeoutMs;
  let own: AbortController | undefined;
  let isTimedOut = false;
  const signal = () => {
    own ??= followerOf(getSignal(cancellation));
    if (isTimedOut) own.abort(new Error("timeout"));
    return own.signal;
  };
  const value = run(signal);
  if (!(value instanceof Promise) && !isThenable(value) && !isStream(value)) return value;
  // A call may wait for long, and a process may hold many of them: what the next call could use again is let go.
  context.memory.spareController = null;
  context.memory.spareHookContext = null;
  return new Promise((resolve, reject) => {
    let reading: StreamReading | undefined;
    const endReading = () => {
      if (reading === undefined) return;
      forgetPreliminary(context.memory, callKey);
      reading.stop();
    };
    work.fail = (error) => {
      endReading();
      reject(error);
    };
    const onTime = () => {
      // Time that a person had does not count.
      const left = work.asking === null ? work.askedMs : timeoutMs;
      work.askedMs = 0;
      if (left > 0) {
        stopTimer = context.parts.clock.after(left, onTime);
        return;
      }
      isTimedOut = true;
      own?.abort(new Error("timeout"));
      endReading();
      reject(Object.assign(new Error(toolTimedOut(timeoutMs)), { name: "TimeoutError" }));
    };
    let stopTimer = context.parts.clock.after(timeoutMs, onTime);
    // A call that is cancelled has its grace instead, and a timer would keep the process alive.
    const stopListening = onCancel(cancellation, () => {
      stopTimer();
      endReading();
    });
    const follow = (given: unknown): unknown => {
      if (reading !== undefined || !isStream(given)) return given;
      reading = readStream(given, (output) => publishPreliminary(context.subscribers, context.memory, callKey, output));
      if (isTimedOut || cancellation.isCancelled) reading.stop();
      return reading.result;
    };
    const settle = (end: () => void) => {
      stopTimer();
      stopListening();
      if (reading !== undefined) forgetPreliminary(context.memory, callKey);
      end();
    };
    Promise.resolve(value)
      .then(follow)
      .then(
        (given) => settle(() => resolve(given)),
        (error) => settle(() => reject(error)),
      );
  });
}

function followerOf(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller;
}
