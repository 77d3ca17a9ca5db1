/**
 * Cancellations: everyone who listens is called, once, and may stop listening.
 */
import { expect, test } from "vitest";
import { abort, createCancellation, getSignal, onCancel } from "../../src/runtime/lib/cancellation.js";

test("calls every listener, in order and once, but those that stopped listening", () => {
  const cancellation = createCancellation();
  const called: string[] = [];
  onCancel(cancellation, () => called.push("first"));
  const stop = onCancel(cancellation, () => called.push("stopped"));
  onCancel(cancellation, () => called.push("last"));
  stop();
  abort(cancellation);
  abort(cancellation);
  expect(called).toEqual(["first", "last"]);
});

test("calls a listener that comes after it at once", () => {
  const cancellation = createCancellation();
  abort(cancellation);
  const called: string[] = [];
  onCancel(cancellation, () => called.push("late"));
  expect(called).toEqual(["late"]);
});

test("aborts its signal, whether somebody asks for the signal before or after", () => {
  const cancellation = createCancellation();
  const before = getSignal(cancellation);
  expect(before.aborted).toBe(false);
  abort(cancellation);
  expect(before.aborted).toBe(true);
  const late = createCancellation();
  abort(late);
  expect(getSignal(late).aborted).toBe(true);
});
