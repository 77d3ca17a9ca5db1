import { describe, expect, test } from "vitest";
import { createRenderer, type RenderOptions } from "../../../src/cli/render/renderer.js";
import { createProgress } from "../../../src/cli/run/progress.js";
import { createStyleText, plainText } from "../../../src/cli/terminal/text-style.js";
import type { Json, MessageDelta, PublicEvent, RunResult, StreamItem } from "../../../src/index.js";
import type { DeltaBody } from "../../../src/ports/model.js";

let seq = 0;

function event<Type extends PublicEvent["type"]>(
  type: Type,
  fields: Omit<Extract<PublicEvent, { type: Type }>, "type" | "sessionId" | "seq" | "index" | "at" | "runId"> & {
    at?: number;
  },
): StreamItem {
  seq += 1;
  return { type, runId: "r", sessionId: "session-1", seq, index: 1, at: 0, ...fields } as unknown as StreamItem;
}

function deltas(modelCallIndex: number, attempt: number, ...bodies: readonly DeltaBody[]): readonly StreamItem[] {
  return bodies.map((body, at) => ({
    type: "delta",
    delta: { ...body, runId: "r", modelCallIndex, attempt, seq: at + 1 } as MessageDelta,
  }));
}

const start: DeltaBody = { kind: "start" };
const text = (...pieces: readonly string[]): readonly DeltaBody[] => [
  { kind: "text-start", id: "t" },
  ...pieces.map((piece): DeltaBody => ({ kind: "text-delta", id: "t", text: piece })),
  { kind: "text-end", id: "t" },
];
const call = (position: number, input: Json, name = "read_file") => ({
  callKey: `r/1/${position}`,
  toolCallId: `c${position}`,
  name,
  input,
});
const message = (modelCallIndex: number, ...texts: readonly string[]) =>
  event("message", {
    modelCallIndex,
    attempt: 1,
    message: { role: "assistant", parts: texts.map((text) => ({ type: "text", text }) as const) },
  });
const ended = (position: number, output: string, outcome: "ok" | "error" | "denied" = "ok", name = "read_file") => [
  event("tool_result", {
    ...named(position, name),
    outcome,
    output: { type: "text", text: output },
    isError: outcome !== "ok",
  }),
  event("call_complete", { ...named(position, name), status: outcome === "ok" ? "ok" : "error", durationMs: 12 }),
];
const named = (position: number, name: string) => ({ callKey: `r/1/${position}`, toolCallId: `c${position}`, name });
const result = (changes: Partial<RunResult> = {}): RunResult =>
  ({
    sessionId: "session-1",
    runId: "r",
    status: "completed",
    reason: "stop",
    text: "",
    usage: {},
    steps: 1,
    ...changes,
  }) as RunResult;
const final = (changes: Partial<RunResult> = {}, at = 0) => event("final", { result: result(changes), at });
const input = [{ role: "user", parts: [{ type: "text", text: "do it\nnow" }] }] as const;

/** The screen of a person: the model's text as it is, everything else after a bar. */
function shown(items: readonly StreamItem[], options: Partial<RenderOptions> = {}): string {
  const renderer = createRenderer({ style: plainText, columns: 80, ...options });
  return items
    .flatMap((item) => renderer.show(item))
    .map(({ to, text }) => (to === "out" ? text : `|${text}`))
    .join("");
}

/** Without a duration, because all events have the same time. */
const end = "|done · 1 step · session session-1\n";

test("an answer and the end of its line are one write, so that no line of another stream comes between", () => {
  const renderer = createRenderer({ style: plainText, columns: 80, text: "answer" });
  const pieces = [message(1, "Hello."), final({ text: "Hello." })].flatMap((item) => renderer.show(item));
  expect(pieces.filter(({ to }) => to === "out")).toEqual([{ to: "out", text: "Hello.\n" }]);
});

test("a run that is stopped says how many messages the model has not got, and counts none that it got", () => {
  const steer = () => event("steered", { input, source: "user" });
  const finished = () =>
    event("step_finished", { modelCallIndex: 1, attempt: 1, agent: "a", model: "m", usage: {} } as never);
  const aborted = () => final({ status: "aborted", reason: "aborted", text: "Request aborted." });
  const begin = () => event("run_started", { input });
  const one = "|The model has not read your last message. It is in the conversation, and";
  expect(shown([begin(), steer(), ...deltas(1, 1, start, ...text("Hi")), aborted()])).toContain(one);
  expect(shown([begin(), ...deltas(1, 1, start, ...text("Hi")), steer(), steer(), aborted()])).toContain(
    "|The model has not read your last 2 messages.",
  );
  const read = [begin(), steer(), message(1, "Hi"), finished(), ...deltas(2, 1, start, ...text("Yes")), aborted()];
  expect(shown(read)).not.toContain("has not read");
});

test("a call that did not run has no duration, and an edit of a person shows the input that runs", () => {
  const items = [
    event("tool_call", call(1, { path: "a.ts", text: "old" }, "write_file")),
    event("approval_answered", { ...named(1, "write_file"), answer: "modify", input: { path: "a.ts", text: "new" } }),
    event("tool_result", {
      ...named(1, "write_file"),
      outcome: "denied",
      output: { type: "text", text: "Denied." },
      isError: true,
    }),
    event("call_complete", { ...named(1, "write_file"), status: "error", durationMs: 0 }),
  ];
  expect(shown(items)).toBe(
    '|▸ write_file path="a.ts" text="old"\n|  write_file: approved with changes\n|    path="a.ts" text="new"\n|  ✗ Denied.\n',
  );
});

describe("an answer as data", () => {
  const raw = '```json\n{ "title": "a\u202e" }\n```';
  const answer = (changes: Partial<RunResult>) => [
    message(1, raw),
    final({ text: raw, ...changes } as Partial<RunResult>),
  ];

  test("goes to standard output as one line of JSON that is safe on a terminal", () => {
    const items = answer({ output: { title: "a\u202e" } } as Partial<RunResult>);
    expect(shown(items, { text: "answer" })).toBe(`{"title":"a\\u202e"}\n${end}`);
  });

  test("that does not fit leaves standard output empty", () => {
    const items = answer({ status: "failed", reason: "invalid_output" } as Partial<RunResult>);
    const renderer = createRenderer({ style: plainText, columns: 80, text: "answer" });
    const pieces = items.flatMap((item) => renderer.show(item));
    expect(pieces.filter(({ to }) => to === "out")).toEqual([]);
    expect(pieces.map(({ text }) => text).join("")).toContain('{ "title": ');
  });
});

test("the summary of a run with a schema that reached its limit does not go to standard output", () => {
  const renderer = createRenderer({ style: plainText, columns: 80, text: "data" });
  const ending = { status: "failed", reason: "max_steps", text: "I only looked." } as Partial<RunResult>;
  const pieces = [message(1, "I only looked."), final(ending)].flatMap((item) => renderer.show(item));
  expect(pieces.filter(({ to }) => to === "out")).toEqual([]);
  expect(pieces.map(({ text }) => text).join("")).toContain("I only looked.");
});

describe("a stream, as a person sees it", () => {
  const cases: readonly (readonly [string, readonly StreamItem[], string, Partial<RenderOptions>?])[] = [
    [
      "text as it comes, not again at its end",
      [...deltas(1, 1, start, ...text("Hel", "lo.")), final({ text: "Hello." })],
      `Hello.\n${end}`,
    ],
    ["text that nobody streamed", [final({ text: "Hello." })], `Hello.\n${end}`],
    [
      "an answer that nobody streamed, although an earlier text contains it",
      [
        ...deltas(1, 1, start, ...text("It is not done yet.")),
        message(1, "It is not done yet."),
        final({ text: "done" }),
      ],
      `It is not done yet.\ndone\n${end}`,
    ],
    [
      "the parts of one text, as they came",
      [
        ...deltas(1, 1, start, ...text("- One"), ...text(", and "), ...text("two.")),
        final({ text: "- One, and two." }),
      ],
      `- One, and two.\n${end}`,
    ],
    [
      "the same from the log, where nothing was streamed",
      [
        ...["- ", "One.", "\n- ", "One."].map((part) => event("text", { modelCallIndex: 1, text: part })),
        message(1, "- ", "One.", "\n- ", "One."),
        event("text", { modelCallIndex: 2, text: "Next." }),
        message(2, "Next."),
      ],
      "- One.\n- One.\nNext.\n",
    ],
    [
      "an answer that was cut off, once",
      [
        ...deltas(1, 1, start, { kind: "text-delta", id: "t", text: "I will lo" }),
        event("message", {
          modelCallIndex: 1,
          attempt: 1,
          message: { role: "assistant", parts: [{ type: "text", text: "I will lo" }] },
          cut: true,
        }),
      ],
      "I will lo\n",
    ],
    [
      "an answer that was cut off, from the log",
      [
        event("message", {
          modelCallIndex: 1,
          attempt: 1,
          message: { role: "assistant", parts: [{ type: "text", text: "I will lo" }] },
          cut: true,
        }),
      ],
      "I will lo\n",
    ],
    [
      "an answer that was shown and then refused",
      [
        ...deltas(1, 1, start, ...text("The secret.")),
        event("attempt_withdrawn", { modelCallIndex: 1, attempt: 1 }),
        final({ status: "failed", reason: "output_refused", text: "The answer was refused." } as Partial<RunResult>),
      ],
      "The secret.\n|The answer above was refused.\n|failed (output_refused): The answer was refused. · 1 step · session session-1\n",
    ],
    [
      "the end of a run that it has joined in the middle, without the duration of the whole run",
      [
        event("step_finished", { modelCallIndex: 2, attempt: 1, agent: "a", model: "m", usage: {} } as never),
        final({ steps: 2 }, 62),
      ],
      "|done · 2 steps · session session-1\n",
    ],
    [
      "text before a call, once",
      [
        event("run_started", { input }),
        ...deltas(1, 1, start, ...text("Let me see.")),
        event("text", { modelCallIndex: 1, text: "Let me see." }),
        message(1, "Let me see."),
        event("tool_call", call(1, { path: "a.ts" })),
        ...ended(1, "1\ta\n2\tb"),
        ...deltas(2, 1, start, ...text("It is a.")),
        final({ text: "It is a.", steps: 2, usage: { inputTokens: 1204, outputTokens: 88 } }, 4_100),
      ],
      'Let me see.\n|▸ read_file path="a.ts"\n|  ✓ 2 lines · 12 ms\nIt is a.\n|done · 2 steps · 1,204 tokens in, 88 out · cost unknown · 4.1 s · session session-1\n',
    ],
    [
      "the text of a run that a stop condition ended, once",
      [
        ...deltas(1, 1, start, ...text("I book it.")),
        event("text", { modelCallIndex: 1, text: "I book it." }),
        message(1, "I book it."),
        event("tool_call", call(1, { path: "a.ts" })),
        ...ended(1, "1\ta\n2\tb"),
        final({ text: "I book it.", reason: "stop_condition", condition: "toolCalled(book)" } as Partial<RunResult>),
      ],
      'I book it.\n|▸ read_file path="a.ts"\n|  ✓ 2 lines · 12 ms\n|stopped by toolCalled(book) · 1 step · session session-1\n',
    ],
    ...[
      { usage: { costUsd: 0.01256 }, says: "$0.0126" },
      { usage: { costUsd: 12.5, partial: true }, says: "at least $12.50" },
      { usage: { costUsd: 0 }, says: "$0" },
      { usage: { costUsd: 0.00001 }, says: "under $0.0001" },
    ].map(({ usage, says }): [string, readonly StreamItem[], string] => [
      `what it cost: ${says}`,
      [final({ text: "Hi.", steps: 2, usage: { inputTokens: 10, outputTokens: 5, ...usage } }, 4_100)],
      `Hi.\n|done · 2 steps · 10 tokens in, 5 out · ${says} · session session-1\n`,
    ]),
    [
      "text of another process comes by its events",
      [
        event("text", { modelCallIndex: 1, text: "Let me see." }),
        message(1, "Let me see."),
        event("tool_call", call(1, {})),
      ],
      "Let me see.\n|▸ read_file\n",
    ],
    [
      "a new attempt takes the place of what the one before it said",
      [
        ...deltas(1, 1, start, { kind: "text-start", id: "t" }, { kind: "text-delta", id: "t", text: "It i" }),
        event("attempt_failed", {
          modelCallIndex: 1,
          attempt: 1,
          model: "m",
          failure: { kind: "network", message: "reset\nby peer" },
          next: "retry",
          retryInMs: 2_000,
        }),
        ...deltas(1, 2, start, ...text("Yes.")),
        final({ text: "Yes." }),
      ],
      `It i\n|Model call failed (network, attempt 1): reset by peer. Trying again in 2.0 s.\nYes.\n${end}`,
    ],
    [
      "what the model thinks is said aside",
      [
        ...deltas(1, 1, start, { kind: "reasoning-delta", id: "r", text: "Hm." }, ...text("Yes.")),
        event("message", {
          modelCallIndex: 1,
          attempt: 1,
          message: {
            role: "assistant",
            parts: [
              { type: "reasoning", text: "Hm." },
              { type: "text", text: "Yes." },
            ],
          },
        }),
        final({ text: "Yes." }),
      ],
      `|Hm.|\nYes.\n${end}`,
    ],
    [
      "calls side by side say which result is whose",
      [
        event("tool_call", call(1, { path: "a" })),
        event("tool_call", call(2, { path: "b" })),
        ...ended(2, "b"),
        ...ended(1, "Error: It does not exist.", "error"),
        event("tool_call", call(3, { path: "c" })),
        ...ended(3, "c"),
      ],
      '|▸ read_file path="a"\n|▸ read_file path="b"\n|  ✓ read_file path="b": b · 12 ms\n|  ✗ read_file path="a": It does not exist. · 12 ms\n|▸ read_file path="c"\n|  ✓ c · 12 ms\n',
    ],
    [
      "the result of a call that began before somebody watched",
      ended(1, "Error: Interrupted.", "error"),
      "|  ✗ read_file: Interrupted. · 12 ms\n",
    ],
    [
      "a question that nobody here will ask",
      [event("approval_requested", { ...call(1, {}, "shell"), why: "policy" })],
      "|  shell waits for an answer\n",
    ],
    [
      "a question that is put to the person",
      [event("approval_requested", { ...call(1, {}), why: "policy" })],
      "",
      { canAsk: true },
    ],
    [
      "a call that is put to the person: the question shows all of it",
      [
        event("tool_call", call(1, { path: "a" })),
        event("tool_call", call(2, { path: "b" })),
        event("approval_requested", { ...call(2, { path: "b" }), why: "policy" }),
        event("tool_call", call(3, { path: "c" })),
        ...ended(3, "c"),
      ],
      '|▸ read_file path="a"\n|▸ read_file path="c"\n|  ✓ read_file path="c": c · 12 ms\n',
      { canAsk: true },
    ],
    [
      "a command that ended with another exit code than 0",
      [
        event("tool_call", call(1, { command: "npm test" }, "shell")),
        ...ended(1, "1 failed\n(exit code 1; not sandboxed)", "ok", "shell"),
        event("tool_call", call(2, { command: "true" }, "shell")),
        ...ended(2, "(no output)\n(exit code 0)", "ok", "shell"),
      ],
      '|▸ shell command="npm test"\n|  ✗ exit code 1; not sandboxed · 12 ms\n|▸ shell command="true"\n|  ✓ exit code 0 · 12 ms\n',
    ],
    [
      "an answer",
      [event("approval_answered", { ...named(1, "shell"), answer: "modify", input: { command: "ls" } })],
      '|  shell: approved with changes\n|    command="ls"\n',
    ],
    ["escapes of a model", [...deltas(1, 1, start, ...text("\u001b]0;x\u0007"))], "\\x1b]0;x\\x07"],
    [
      "escapes of a tool, its name and its input",
      [event("tool_call", call(1, { a: "\u009b2J" }, "x\u001b[1m")), ...ended(1, "\u001b[2J", "ok", "x\u001b[1m")],
      '|▸ x\\x1b[1m a="\\x9b2J"\n|  ✓ \\x1b[2J · 12 ms\n',
    ],
    ["a character in two deltas", [...deltas(1, 1, start, ...text("\ud83d", "\ude00!"))], "😀!"],
    [
      "text that was missed comes from the log",
      [
        ...deltas(1, 1, start, { kind: "text-start", id: "t" }, { kind: "text-delta", id: "t", text: "One" }),
        { type: "lagged", fromSeq: 3 },
        message(1, "One two."),
      ],
      "One two.\n",
    ],
    [
      "coming in the middle",
      [
        {
          type: "snapshot",
          runId: "r",
          modelCallIndex: 1,
          attempt: 1,
          deltaSeq: 3,
          message: { role: "assistant", parts: [{ type: "text", text: "Hel" }] },
          open: [{ id: "t", type: "text", index: 0 }],
          inputs: [],
        } as unknown as StreamItem,
        ...deltas(1, 1, start, ...text("Hel", "lo.")).slice(3),
        final({ text: "Hello." }),
      ],
      `Hello.\n${end}`,
    ],
    [
      "the task, if the options ask for it",
      [event("run_started", { input })],
      "|> do it\n> now\n",
      { showInput: true },
    ],
    ["no task, if the person has just typed it", [event("run_started", { input })], ""],
    [
      "a handoff",
      [event("handed_off", { callKey: "r/1/1", from: "triage", to: "billing" })],
      "|Handed over to billing.\n",
    ],
    ["a restart", [event("restarted", {})], "|Continuing after an interruption.\n"],
    [
      "an abort",
      [event("abort_requested", {}), final({ status: "aborted", reason: "aborted", text: "Request aborted." })],
      "|Aborting…\n|aborted · 1 step · session session-1\n",
    ],
    [
      "an abort in the past",
      [event("abort_requested", {}), final({ status: "aborted", reason: "aborted", text: "Request aborted." })],
      "|An abort was requested.\n|aborted · 1 step · session session-1\n",
      { isTranscript: true },
    ],
    [
      "a queued message that was taken back, and then the run in progress",
      [
        event("run_started", { input }),
        { ...event("run_queued", { input, source: "user" } as never), runId: "queued" } as StreamItem,
        { ...event("abort_requested", {}), runId: "queued" } as StreamItem,
        {
          ...final({ runId: "queued", status: "aborted", reason: "aborted", text: "Request aborted." }),
          runId: "queued",
        } as StreamItem,
        final({ text: "" }),
      ],
      `|A queued message was taken back.\n${end}`,
    ],
    [
      "a failure",
      [
        final({
          status: "failed",
          reason: "model_error",
          text: "The model could not be reached or failed.",
          error: { code: "auth", message: "Invalid key", retryable: false },
        } as Partial<RunResult>),
      ],
      "|failed (model_error): The model could not be reached or failed: Invalid key · 1 step · session session-1\n",
    ],
    [
      "a limit, with what the model summed up",
      [final({ status: "failed", reason: "max_steps", text: "So far: a." } as Partial<RunResult>)],
      "So far: a.\n|failed (max_steps): The run reached its limit of steps. · 1 step · session session-1\n",
    ],
  ];
  for (const [name, items, expected, options] of cases)
    test(name, () => {
      expect(shown(items, options)).toBe(expected);
    });

  test("the plan of todo(), line by line", () => {
    const call = { runId: "r", callKey: "r/1/1", toolCallId: "c1", name: "todo" } as const;
    const plan = ["[x] look", ...Array.from({ length: 24 }, (_, index) => `[ ] step ${index}`)].join("\n");
    const lines = shown([
      event("tool_call", { input: { items: [] }, ...call }),
      event("tool_result", { outcome: "ok", output: { type: "text", text: plan }, isError: false, ...call }),
      event("call_complete", { status: "ok", durationMs: 0, ...call }),
    ]).split("\n");
    expect(lines.slice(2, 4)).toEqual(["|    [x] look", "|    [ ] step 0"]);
    expect(lines.slice(-3)).toEqual(["|    [ ] step 18", "|    … 5 more", ""]);
  });

  test("the end of a run that stopped without an event", () => {
    const renderer = createRenderer({ style: plainText, columns: 80 });
    const interrupted = result({ status: "interrupted", reason: "shutdown", resumable: true } as Partial<RunResult>);
    expect(renderer.end(interrupted, 0).map(({ text }) => text)).toEqual([
      "interrupted (shutdown) · 1 step · session session-1\n",
    ]);
  });
});

describe("standard output that no person reads", () => {
  const piped = (...items: readonly StreamItem[]) => shown(items, { text: "answer" });

  test("gets the answer alone, as a whole", () => {
    const items = [...deltas(1, 1, start, ...text("Hel", "lo.")), message(1, "Hello.")];
    expect(piped(...items)).toBe("");
    expect(piped(...items, final({ text: "Hello." }))).toBe(`Hello.\n${end}`);
  });

  test("gets nothing of an attempt that failed", () => {
    const failed = event("attempt_failed", {
      modelCallIndex: 1,
      attempt: 1,
      model: "m",
      failure: { kind: "network", message: "cut" },
      next: "retry",
      retryInMs: 2_000,
    });
    const first = [...deltas(1, 1, start, ...text("It i")), failed];
    const second = deltas(1, 2, start, ...text("Yes."));
    expect(piped(...first, ...second, final({ text: "Yes." }))).toBe(
      `|Model call failed (network, attempt 1): cut. Trying again in 2.0 s.\nYes.\n${end}`,
    );
  });

  test("gets nothing of what the model says before its calls", () => {
    const items = [
      ...deltas(1, 1, start, ...text("Let me look.")),
      message(1, "Let me look."),
      event("tool_call", call(1, {})),
      ...ended(1, "one"),
      message(2, "It is one."),
      final({ text: "It is one." }),
    ];
    const written = piped(...items);
    expect(written).toMatch(/^\|Let me look\.\n/);
    expect(written.split("\n").filter((line) => !line.startsWith("|") && line !== "")).toEqual(["It is one."]);
  });

  test("gets no text that stands for a missing answer", () => {
    expect(piped(final({ status: "aborted", reason: "aborted", text: "Request aborted." }))).toBe(
      "|aborted · 1 step · session session-1\n",
    );
  });
});

describe("colour", () => {
  test.each([
    ["a terminal", { isTTY: true }, {}, true],
    ["a pipe", {}, {}, false],
    ["NO_COLOR", { isTTY: true }, { NO_COLOR: "1" }, false],
    ["an empty NO_COLOR", { isTTY: true }, { NO_COLOR: "" }, true],
    ["a dumb terminal", { isTTY: true }, { TERM: "dumb" }, false],
    ["FORCE_COLOR in a pipe", {}, { FORCE_COLOR: "1", NO_COLOR: "1", TERM: "dumb" }, true],
    ["an empty FORCE_COLOR", {}, { FORCE_COLOR: "" }, true],
    ["FORCE_COLOR=0", { isTTY: true }, { FORCE_COLOR: "0" }, false],
  ])("%s", (_, stream, environment, isPainted) => {
    expect(createStyleText(stream, environment)("red", "x") !== "x").toBe(isPainted);
  });

  test("the theme none takes it away, and FORCE_COLOR is above", () => {
    expect(createStyleText({ isTTY: true }, {}, "none")("red", "x")).toBe("x");
    expect(createStyleText({ isTTY: true }, { FORCE_COLOR: "1" }, "none")("red", "x")).not.toBe("x");
  });
});

describe("progress", () => {
  test("is shown for what takes longer than a second, with its time", () => {
    const progress = createProgress();
    progress.update(event("run_started", { input }), 0);
    expect(progress.line(900)).toBeNull();
    expect(progress.line(1_500)).toBe("… the model, 1.5 s");
    progress.update(event("step_finished", {} as never), 2_000);
    expect(progress.line(9_000)).toBeNull();
    progress.update(event("tool_call", call(1, {}, "shell")), 2_000);
    progress.update(event("tool_call", call(2, {}, "search")), 2_500);
    expect(progress.line(14_000)).toBe("… shell and 1 more, 12 s");
    progress.update({ type: "progress", callKey: "r/1/1", note: "file 3\u001b[2J" }, 15_000);
    expect(progress.line(14_000)).toBe("… file 3\\x1b[2J and 1 more, 12 s");
    const output = { type: "text", text: "file 3: a\nfile 4: b\n" } as const;
    progress.update({ type: "preliminary", callKey: "r/1/1", output }, 15_000);
    expect(progress.line(14_000)).toBe("… file 4: b and 1 more, 12 s");
    for (const item of [...ended(1, ""), ...ended(2, "")]) progress.update(item, 20_000);
    expect(progress.line(23_000)).toBe("… the model, 3.0 s");
    progress.update(
      event("attempt_failed", {
        modelCallIndex: 1,
        attempt: 1,
        model: "m",
        failure: { kind: "network", message: "" },
        next: "retry",
        retryInMs: 30_000,
      }),
      30_000,
    );
    expect(progress.line(32_000)).toBe("… attempt 2 of the model call in 28 s");
    // The wait is over: the line tells what is under way, and since when.
    expect(progress.line(60_500)).toBeNull();
    expect(progress.line(90_000)).toBe("… attempt 2 of the model call, 30 s");
    progress.update(final(), 60_000);
    expect(progress.line(99_000)).toBeNull();
  });

  test("tells what follows a failed attempt", () => {
    const failed = { modelCallIndex: 1, attempt: 1, model: "m", failure: { kind: "overloaded", message: "" } } as const;
    const progress = createProgress();
    progress.update(event("attempt_failed", { ...failed, next: "compact" }), 0);
    expect(progress.line(5_000)).toBe("… summarizing the conversation, 5.0 s");
    progress.update(event("compacted", { reason: "overflow" } as never), 6_000);
    expect(progress.line(8_000)).toBe("… the model, 2.0 s");
    progress.update(event("attempt_failed", { ...failed, next: "fallback" }), 10_000);
    expect(progress.line(20_000)).toBe("… the next model, 10 s");
  });

  test("goes on while the model writes a text that is not shown yet", () => {
    const writing = deltas(1, 1, start, ...text("Hel").slice(0, 2));
    const items = [event("run_started", { input }), ...writing];
    const shownText = createProgress();
    const heldText = createProgress({ showsText: false });
    for (const item of items) for (const progress of [shownText, heldText]) progress.update(item, 0);
    expect(shownText.line(5_000)).toBeNull();
    expect(heldText.line(5_000)).toBe("… the model, 5.0 s");
  });
});
