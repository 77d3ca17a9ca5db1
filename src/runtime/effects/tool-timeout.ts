/**
 * The time limit of a tool call, and of a stream of results that it returns.
 */
import type { AnyTool } from "../../ports/tool.js";
import { type Cancellation, getSignal, onCancel } from "../lib/cancellation.js";
import { isThenable } from "../lib/coroutine.js";
import { forgetPreliminary, publishPreliminary } from "../subscribers/broadcast.js";
import type { EffectContext } from "../work/effect-context.js";
import { toolTimedOut } from "./prompts.js";
import type { ToolWork } from "./tool-context.js";
import { isStream, readStream, type StreamReading } from "./tool-stream.js";

/** The default time limit of tools. */
export const defaultToolTimeoutMs = 600_000;

/** Stops waiting for a tool when its time limit has passed. A tool that obeys its signal ends; any other tool may still be running. */
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
    own ??= createFollower(getSignal(cancellation));
    if (isTimedOut) own.abort(createTimeoutError("timeout"));
    return own.signal;
  };
  const value = run(signal);
  if (!(value instanceof Promise) && !isThenable(value) && !isStream(value)) return value;
  // A call may wait for a long time, and a process may have many such calls: drop what the next hook could reuse.
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
      // The time during which a person was asked does not count.
      const left = work.asking === null ? work.askedMs : timeoutMs;
      work.askedMs = 0;
      if (left > 0) {
        stopTimer = context.agent.clock.after(left, onTime);
        return;
      }
      isTimedOut = true;
      own?.abort(createTimeoutError("timeout"));
      endReading();
      reject(createTimeoutError(toolTimedOut(timeoutMs)));
    };
    let stopTimer = context.agent.clock.after(timeoutMs, onTime);
    // A cancelled call has its grace period instead, and a timer would keep the process alive.
    const stopListening = onCancel(cancellation, () => {
      stopTimer();
      endReading();
    });
    const follow = (given: unknown): unknown => {
      if (reading !== undefined || !isStream(given)) return given;
      const { subscribers, memory, agent } = context;
      reading = readStream(given, agent.clock, (output) => publishPreliminary(subscribers, memory, callKey, output));
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

/** Has the name of the errors of `AbortSignal.timeout`, by which tools recognize their time limit. */
function createTimeoutError(message: string): Error {
  return Object.assign(new Error(message), { name: "TimeoutError" });
}

function createFollower(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller;
}
