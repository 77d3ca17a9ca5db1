import { describe, expect, test } from "vitest";
import { type CallPolicy, effects, textOfOutput } from "../../src/core/index.js";
import { verifies } from "../verifies.js";
import {
  allowCall,
  appendEvent,
  askAboutCall,
  compactConversation,
  createSession,
  createStartedSession,
  decideCall,
  endRun,
  failModelCall,
  failPolicy,
  finishCall,
  finishModelCall,
  fireTimer,
  keyOf,
  listOutcomes,
  prepareStep,
  queueRun,
  requestAbort,
  requireRun,
  restartRun,
  runStep,
  type Session,
  startRun,
  steerRun,
  userMessage,
} from "./session.js";

function results(session: Session): readonly string[] {
  const last = session.transcript.messages.findLast((message) => message.role === "tool");
  return last?.role === "tool" ? last.parts.map((part) => textOfOutput(part.output)) : [];
}

test("a call that waits for a slot for its next attempt ends with its last failure", verifies("TOOL-15"), () => {
  const session = createStartedSession({ toolConcurrency: 2 });
  runStep(session, { calls: ["one", "two", "three"] });
  allowCall(session, 1, { recover: "rerun", retry: { attempts: 3, baseMs: 100, maxMs: 100 } });
  allowCall(session, 2);
  allowCall(session, 3);
  const callKey = keyOf(session, 1);
  const fault = { code: "tool_failed", message: "no answer", retryable: true };
  const timing = { startedAt: 0, durationMs: 1 };
  appendEvent(session, { type: "tool_failed", runId: "r1", callKey, attempt: 1, fault, retryInMs: 100, timing });
  session.at += 100;
  appendEvent(session, { type: "timer_fired", runId: "r1", timer: "tool_retry", callKey, attempt: 1 });
  // The third call has taken the slot meanwhile.
  expect(listOutcomes(session.state)).toEqual(["ready", "running", "running"]);
  requestAbort(session);
  expect(listOutcomes(session.state)).toEqual(["error", "running", "running"]);
  finishCall(session, 2);
  finishCall(session, 3);
  expect(results(session)[0]).toContain("no answer");
});

/** Sessions in every state in which a run can be aborted. */
const underWay: readonly (readonly [where: string, make: () => Session])[] = [
  ["before the first model call", () => createStartedSession()],
  [
    "while the context is compacted",
    () => {
      const session = createStartedSession();
      prepareStep(session);
      failModelCall(session, { type: "compact" }, "context_overflow");
      return session;
    },
  ],
  [
    "while a model is called",
    () => {
      const session = createStartedSession();
      prepareStep(session);
      return session;
    },
  ],
  [
    "while it waits to try again",
    () => {
      const session = createStartedSession();
      prepareStep(session);
      failModelCall(session, { type: "retry", inMs: 1_000 });
      return session;
    },
  ],
  [
    "while calls run, wait and are decided",
    () => {
      const session = createStartedSession({ toolConcurrency: 1 });
      runStep(session, { calls: ["one", "two", "three", "four"] });
      allowCall(session, 1);
      allowCall(session, 2);
      askAboutCall(session, 3);
      return session;
    },
  ],
  [
    "while it waits for a person",
    () => {
      const session = createStartedSession();
      runStep(session, { calls: ["one", "two"] });
      askAboutCall(session, 1);
      allowCall(session, 2, { recover: "fail", external: true });
      return session;
    },
  ],
  [
    "while another session works on a call",
    () => {
      const session = createStartedSession();
      runStep(session, { calls: ["one"] });
      allowCall(session, 1);
      waitsForChild(session);
      return session;
    },
  ],
  [
    "while it looks for a reason to go on",
    () => {
      const session = createStartedSession();
      runStep(session, { text: "done" });
      return session;
    },
  ],
];

function waitsForChild(session: Session): void {
  const { runId } = requireRun(session.state);
  appendEvent(session, { type: "tool_waiting", runId, callKey: keyOf(session, 1), on: "child", childId: "c1" });
}

/** Lets the grace pass, where something is still open. */
function graceEnds(session: Session): void {
  fireTimer(session, { timer: "grace" });
}

describe("an abort", () => {
  test.each(underWay)(
    "%s ends the run and leaves a history to go on from",
    verifies("REC-8", "LOOP-10#intent"),
    (_, make) => {
      const session = make();
      requestAbort(session);
      const twice = session.state;
      requestAbort(session);
      expect(session.state).toBe(twice);
      graceEnds(session);
      expect(session.state).toMatchObject({ status: "aborted", reason: "aborted" });
      expect(session.events.at(-1)).toMatchObject({
        type: "final",
        result: { status: "aborted", text: "Request aborted." },
      });
      expect(effects(session.state)).toEqual([]);
      const open = new Set<string>();
      for (const { event } of session.log) {
        if (event.type === "model_finished")
          event.message.parts.forEach((part, index) => {
            if (part.type === "tool_call") open.add(`${event.runId}/${event.modelCallIndex}/${index + 1}`);
          });
        if (event.type === "tool_finished") expect(open.delete(event.callKey)).toBe(true);
      }
      expect([...open]).toEqual([]);

      startRun(session, "r2");
      prepareStep(session);
      expect(session.transcript.messages.at(-1)).toEqual(userMessage("do r2"));
      finishModelCall(session, { text: "hi" });
      endRun(session);
      expect(session.state).toMatchObject({ status: "completed", runId: "r2" });
    },
  );

  test("ends the run at once where nothing is under way", () => {
    const atOnce = underWay.filter(([, make]) => {
      const session = make();
      requestAbort(session);
      return session.state.status === "aborted";
    });
    expect(atOnce.map(([where]) => where)).toEqual([
      "before the first model call",
      "while the context is compacted",
      "while it waits to try again",
      "while it waits for a person",
      "while it looks for a reason to go on",
    ]);
  });

  test("in a session that rests changes nothing", verifies("REC-8"), () => {
    const idle = createSession();
    appendEvent(idle, { type: "abort_requested", runId: "r1" });
    expect(idle.log).toEqual([]);
    const ended = createStartedSession();
    requestAbort(ended);
    const entries = ended.log.length;
    requestAbort(ended);
    expect(ended.log).toHaveLength(entries);
  });

  test("starts nothing: what had not started ends at once, what runs may settle", verifies("TOOL-5#results"), () => {
    const session = createStartedSession({ toolConcurrency: 1 });
    runStep(session, { calls: ["one", "two", "three", "four"] });
    allowCall(session, 1);
    allowCall(session, 2);
    askAboutCall(session, 3);
    requestAbort(session);
    expect(listOutcomes(session.state)).toEqual(["running", "aborted", "aborted", "aborted"]);
    expect(effects(session.state)).toMatchObject([{ type: "sleep", timer: "grace", until: 6_000, ms: 5_000 }]);
    finishCall(session, 1);
    expect(session.state.status).toBe("aborted");
    expect(results(session)).toEqual([
      "result 1",
      ...Array(3).fill("Error: Aborted before it started. The call was not run."),
    ]);
  });

  test(
    "gives up what does not settle within the grace, and shows what comes later as a note",
    verifies("TOOL-5#results", "LOOP-10#intent"),
    () => {
      const session = createStartedSession();
      runStep(session, { calls: ["one", "two"] });
      allowCall(session, 1);
      allowCall(session, 2);
      requestAbort(session);
      finishCall(session, 2);
      graceEnds(session);
      expect(session.state).toMatchObject({ status: "aborted", interrupted: ["r1/1/1"] });
      expect(results(session)).toEqual(["Error: Interrupted. It had started and its outcome is unknown.", "result 2"]);

      const late = {
        type: "late_result",
        callKey: "r1/1/1",
        outcome: "ok",
        output: { type: "text", text: "x" },
      } as const;
      appendEvent(session, late);
      expect(session.state.interrupted).toEqual([]);
      const entries = session.log.length;
      appendEvent(session, late);
      expect(session.log).toHaveLength(entries);
      startRun(session, "r2");
      const [note, request] = session.transcript.messages.slice(-2);
      expect(note).toEqual(
        userMessage(
          "[Note, not from the user: the tool call r1/1/1, which was interrupted, has finished after all. Its output:]\nx",
        ),
      );
      expect(request).toEqual(userMessage("do r2"));
    },
  );

  test("waits as long as the slowest call that runs may take", () => {
    const patient: CallPolicy = { recover: "fail", graceMs: 60_000 };
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two", "three"] });
    allowCall(session, 1, { recover: "fail", graceMs: 10 });
    allowCall(session, 2, patient);
    requestAbort(session);
    expect(effects(session.state)).toMatchObject([{ ms: 60_000 }]);
  });

  test("counts what the model had used, and drops what it said but for calls that it asked for", () => {
    const failed = createStartedSession();
    prepareStep(failed);
    requestAbort(failed);
    failModelCall(failed, { type: "retry", inMs: 0 }, "cancelled", { inputTokens: 9, partial: true });
    expect(failed.state).toMatchObject({ status: "aborted", usage: { inputTokens: 9, partial: true } });

    const answered = createStartedSession();
    prepareStep(answered);
    requestAbort(answered);
    finishModelCall(answered, { text: "words", calls: ["one"] });
    expect(answered.state).toMatchObject({ status: "aborted", usage: { inputTokens: 10 } });
    expect(results(answered)).toEqual(["Error: Aborted before it started. The call was not run."]);
    expect(answered.events.filter((event) => event.type === "text")).toMatchObject([{ text: "words" }]);
  });

  test("goes to no other step, whatever the answer was", () => {
    for (const finish of ["stop", "length"] as const) {
      const session = createStartedSession();
      prepareStep(session);
      steerRun(session, "more");
      requestAbort(session);
      finishModelCall(session, { text: "hi", finish });
      expect(session.state).toMatchObject({ status: "aborted", modelCallIndex: 1, counters: { continuations: 0 } });
    }
  });

  test("says of a call that may have started that nobody knows", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two", "three", "four"] });
    allowCall(session, 1, { recover: "reconcile" });
    allowCall(session, 2, { recover: "ask" });
    allowCall(session, 3, { recover: "fail", external: true });
    restartRun(session);
    requestAbort(session);
    expect(session.state.status).toBe("aborted");
    expect(session.log.flatMap(({ event }) => (event.type === "tool_finished" ? [event.outcome] : []))).toEqual([
      "interrupted",
      "interrupted",
      "interrupted",
      "aborted",
    ]);
  });

  test("reaches the session that works on a call, and takes its result", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two"] });
    allowCall(session, 1);
    waitsForChild(session);
    requestAbort(session);
    expect(effects(session.state)).toMatchObject([
      { type: "sleep", timer: "grace" },
      { type: "cancel_child", childId: "c1", callKey: "r1/1/1" },
    ]);
    finishCall(session, 1, { outcome: "aborted" });
    expect(session.state.status).toBe("aborted");
  });

  test("waits for nobody outside: a call that turns there is given up with the rest", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    allowCall(session, 1);
    requestAbort(session);
    appendEvent(session, { type: "tool_waiting", runId: "r1", callKey: "r1/1/1", on: "external" });
    expect(session.state.status).toBe("tool_running");
    graceEnds(session);
    expect(session.state).toMatchObject({ status: "aborted", interrupted: ["r1/1/1"] });
  });

  test("keeps the reason that came first", () => {
    const session = createStartedSession({ maxWallClockMs: 10 });
    runStep(session, { calls: ["one"] });
    allowCall(session, 1);
    fireTimer(session, { timer: "wall_clock" });
    requestAbort(session);
    finishCall(session, 1);
    expect(session.state).toMatchObject({ status: "failed", reason: "max_wall_clock" });
  });

  test("leaves what is queued waiting; a steer stays first and is shown to the next run", () => {
    const session = createStartedSession();
    prepareStep(session);
    queueRun(session, "r2");
    steerRun(session, "Look in src.");
    requestAbort(session);
    steerRun(session, "Too late to steer.");
    graceEnds(session);
    expect(session.state).toMatchObject({
      status: "aborted",
      queue: [{ kind: "run", runId: "r2" }, { kind: "steer" }],
    });
    startRun(session, "r3");
    prepareStep(session);
    expect(session.transcript.messages.slice(-2)).toEqual([userMessage("Look in src."), userMessage("do r3")]);
    expect(session.state.queue).toMatchObject([{ kind: "run", runId: "r2" }]);
    finishModelCall(session, { text: "hi" });
    endRun(session);
    expect(session.state).toMatchObject({ status: "preparing", runId: "r2" });
  });
});

describe("a restart", () => {
  test("prepares an unfinished model call again, under the same number of the step", () => {
    const session = createStartedSession();
    prepareStep(session);
    restartRun(session);
    expect(effects(session.state)).toMatchObject([{ type: "prepare", key: "r1/1/prepare/1.0" }]);
    prepareStep(session);
    expect(effects(session.state)).toMatchObject([{ type: "call_model", modelCallIndex: 1, attempt: 2 }]);
  });

  test("leaves a wait to try again as it is", () => {
    const session = createStartedSession();
    prepareStep(session);
    failModelCall(session, { type: "retry", inMs: 1_000 });
    const before = effects(session.state);
    restartRun(session);
    expect(effects(session.state)).toEqual(before);
  });

  test("treats each call that was running as its tool says, and no other", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two", "three", "four", "five"] });
    for (const [index, recover] of (["rerun", "ask", "fail", "reconcile"] as const).entries())
      allowCall(session, index + 1, { recover });
    restartRun(session);
    expect(listOutcomes(session.state)).toEqual(["running", "asking", "interrupted", "reconciling", "deciding"]);
    expect(effects(session.state).map((effect) => effect.key)).toEqual([
      "r1/1/1/run/2",
      "r1/1/4/reconcile/1",
      "r1/1/5/decide/4",
    ]);
  });

  test("has a person say what became of a call: run it again, take a result, or give it up", () => {
    const answersTo = [
      [{ type: "rerun" }, "running"],
      [{ type: "approve" }, "running"],
      [{ type: "result", output: { type: "text", text: "sent" } }, "ok"],
      [{ type: "result", output: { type: "text", text: "bounced" }, isError: true }, "error"],
      [{ type: "fail", note: "gone" }, "interrupted"],
      [{ type: "deny" }, "interrupted"],
    ] as const;
    const session = createStartedSession();
    runStep(session, { calls: ["hold", ...answersTo.map((_, index) => `tool${index}`)] });
    answersTo.forEach((_, index) => {
      allowCall(session, index + 2, { recover: "ask" });
    });
    restartRun(session);
    answersTo.forEach(([answer], index) => {
      appendEvent(session, {
        type: "answered",
        runId: "r1",
        callKey: keyOf(session, index + 2),
        answerId: "a",
        answer,
      });
    });
    expect(listOutcomes(session.state)).toEqual(["deciding", ...answersTo.map(([, outcome]) => outcome)]);
    const modify = { type: "modify", input: {}, inputHash: "h" } as const;
    const before = session.state;
    appendEvent(session, { type: "answered", runId: "r1", callKey: "r1/1/3", answerId: "b", answer: modify });
    expect(session.state).toBe(before);
  });

  test("has the outside world say it: finished, not started, or unknown", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["hold", "one", "two", "three", "four"] });
    const policy: CallPolicy = { recover: "reconcile" };
    for (const position of [2, 3, 4, 5]) allowCall(session, position, policy);
    restartRun(session);
    finishCall(session, 2);
    allowCall(session, 3, policy);
    decideCall(session, 4, { verdict: "ask", policy, inputHash: "h", question: "was it sent?" });
    decideCall(session, 5, { verdict: "reject", message: "it cannot be told" });
    expect(listOutcomes(session.state)).toEqual(["deciding", "ok", "running", "asking", "interrupted"]);
    expect(effects(session.state).map((effect) => effect.key)).toContain("r1/1/3/run/2");
    expect(session.events.findLast((event) => event.type === "approval_requested")).toMatchObject({ why: "recovery" });
  });

  test("keeps the order of calls that run one at a time", () => {
    const session = createStartedSession({ toolConcurrency: 1 });
    runStep(session, { calls: ["one", "two"] });
    allowCall(session, 1, { recover: "reconcile" });
    allowCall(session, 2);
    restartRun(session);
    expect(listOutcomes(session.state)).toEqual(["reconciling", "ready"]);
    finishCall(session, 1);
    expect(listOutcomes(session.state)).toEqual(["ok", "running"]);
  });

  test("that gives up a call is no progress", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    allowCall(session, 1, { recover: "fail" });
    restartRun(session);
    expect(requireRun(session.state)).toMatchObject({ status: "preparing", restarts: 1 });
  });

  test("forgets the oldest of very many calls that were given up", () => {
    const session = createStartedSession();
    runStep(session, { calls: Array(70).fill("one") });
    for (let position = 1; position <= 70; position += 1)
      allowCall(session, position, { recover: "fail", external: true });
    requestAbort(session);
    expect(session.state.interrupted).toHaveLength(64);
    expect(session.state.interrupted[0]).toBe("r1/1/7");
  });

  test("while the run is ending gives up what was waited for", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    allowCall(session, 1, { recover: "rerun" });
    requestAbort(session);
    restartRun(session);
    expect(session.state).toMatchObject({ status: "aborted", interrupted: ["r1/1/1"] });
  });

  test("without progress is survived four times", () => {
    const session = createStartedSession();
    prepareStep(session);
    for (let life = 1; life <= 4; life += 1) {
      restartRun(session);
      expect(requireRun(session.state)).toMatchObject({ status: "preparing", restarts: life });
      prepareStep(session);
    }
    restartRun(session);
    expect(session.state).toMatchObject({ status: "failed", reason: "crash_loop" });
  });

  test("gives up what runs where it is one too many", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    allowCall(session, 1, { recover: "rerun" });
    for (let life = 1; life <= 5; life += 1) restartRun(session);
    expect(session.state).toMatchObject({ status: "failed", reason: "crash_loop" });
    expect(results(session)).toEqual(["Error: Interrupted. It had started and its outcome is unknown."]);
  });

  test("is forgotten with progress: an answer of the model, a result, a compaction", () => {
    const session = createStartedSession();
    const livesAfter = (act: () => void) => {
      restartRun(session);
      restartRun(session);
      act();
      return requireRun(session.state).restarts;
    };
    prepareStep(session);
    expect(
      livesAfter(() => {
        prepareStep(session);
        finishModelCall(session, { calls: ["one", "two"] });
      }),
    ).toBe(0);
    allowCall(session, 1, { recover: "rerun" });
    allowCall(session, 2, { recover: "fail" });
    expect(livesAfter(() => finishCall(session, 1))).toBe(0);
    expect(livesAfter(() => compactConversation(session, { keptFrom: 2 }))).toBe(0);
    expect(livesAfter(() => compactConversation(session))).toBe(2);
  });

  test("is nothing to a session that waits for somebody outside, however often it is opened", () => {
    const asking = createStartedSession();
    runStep(asking, { calls: ["one"] });
    askAboutCall(asking, 1);
    const parent = createStartedSession();
    runStep(parent, { calls: ["one"] });
    allowCall(parent, 1, failPolicy);
    waitsForChild(parent);
    for (const session of [asking, parent]) expect(restartRun(session)).toEqual([]);
  });
});
