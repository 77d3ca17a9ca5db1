/**
 * Every behavior that this project owes its users, as data. An id never changes its meaning.
 *
 * A test cites the rows that it proves (`verifies("LOOP-3")`, or a part of one: `verifies("SEC-5#library")`). A run of tests fails when a
 * citation names no row. `npm run requirements` fails while no passing test of the two sets cites a row that is owed.
 *
 * Words: a **session** is a conversation and its append-only event log. A **run** is one accepted request in it. A **step** is one
 * model call and the tool calls it asks for; its number is `modelCallIndex`, from 1. An **attempt** is one try of a model call. A
 * **delta** is one increment of an attempt's stream. A **call** is one tool call, known by its `callKey`; the provider's id is only
 * an attribute. A **turn** is one user message and all that follows until the next.
 */

export type Requirement = {
  readonly id: string;
  readonly text: string;
  /** What of the row is owed now: all of it, nothing yet, or these of its parts. */
  readonly owed: boolean | readonly string[];
  /** The row is proved when every part is; a citation of the bare id proves them all. */
  readonly parts?: readonly string[];
};

const rows = {
  // LOOP: the loop itself
  "LOOP-1":
    "The loop runs model call → tool calls → model call until a terminal state; it loads no plugins and registers no tools: it is handed a model, tools, hooks and a store.",
  "LOOP-2":
    "One explicit state machine per session with the states `idle, preparing, model_running, tool_running, awaiting_human, completed, failed, aborted`. The table of every (state, event) pair is exported data. An event that does not apply changes nothing and says why: `stale` where it is late or repeated (harmless), a typed error naming state and event where the public API was misused. From a terminal state an input leads to `preparing`; every step re-enters through `preparing`.",
  "LOOP-3":
    "The core is pure: `transition(state, event)` and `effects(state)` use no clock, randomness, I/O or promise; the same log always folds to the same state.",
  "LOOP-4":
    "State carries the counters `errorCount`, `totalSteps`, `compactionAttempts` and the run's usage; limits are checked before the next model call with `>=`; a limit of 0 is refused when the agent is made. The first step always runs unless aborted or refused by `beforeRun`.",
  "LOOP-5":
    "`agent.run(input)` gives one typed result; `agent.runStream(input)` gives events in order, then the same result; `agent.iterate(input)` gives a frozen view (state and messages) after each step, after each error and once at the end. One code path serves the three.",
  "LOOP-6":
    "`agent.with({ tools, model, hooks, … })` gives a new agent and leaves the old one as it was; an agent's parts can be read back.",
  "LOOP-7":
    "Every outcome is data, never a sentence to be parsed: a union by `status` (`completed`, `failed`, `aborted`, `awaiting_human` with its approvals, `interrupted` where the store or the process gave out and `resume` can go on), with one of a closed set of `reason`s (src/core/data/reasons.ts), `text`, `usage`, `steps`, `sessionId`, `runId`, `error?`. Bad configuration and misuse of the API throw; what a model, tool, hook or store throws is a failure and never leaves a run as an exception.",
  "LOOP-8":
    "Two runs never interleave in a session. `send(input, { mode })` while a run is active: `queue` (default; becomes the next run), `steer` (goes in before the next model call; one that arrives during the last model call prevents completion) or `reject`. A steer never drops a call that has started; after an abort it stays first in the queue, and nothing queued starts by itself.",
  "LOOP-9":
    "`model` may be any AI SDK language model of specification v3 or v4, or an object of this project's own `Model` interface; a model can also be chosen by name from a model registry.",
  "LOOP-10":
    "`run`, `runStream`, `iterate` and `send` take `{ signal, sessionId, runId }`. Abort is looked at before the run, each model call and each tool start, and reaches the model's signal and `ctx.signal`. Abort is an intent: what runs is signalled and its outcome recorded (grace 5 s, then `interrupted`; what comes later is a `late_result` that the model is shown), then the run ends `aborted` with the text `Request aborted.`; its stream still ends with `final`.",
  "LOOP-11":
    "An unknown `sessionId` creates the session; a repeated `send` of one id is one message; a known `runId` starts nothing and returns that run; input may be text, messages or multimodal parts; a second commit for one (`runId`, `modelCallIndex`) is stale.",
  "LOOP-12":
    "`toolChoice`, `requireDoneTool` (false), `compaction`, `toolOutput` and `usage` (on; `null` turns one off), `services` (replaces the usage, compaction and output services; seen as `ctx.services`).",
  "LOOP-13":
    "Order of a step: limits, steered input, compaction (until none is needed or allowed), `beforeLLMCall`, model, `afterLLMCall`, commit, finish reason. Order of a call: parse, `beforeToolCall`, validate, `canExecuteTool`, approval, run, `afterToolCall`, commit.",
  "LOOP-14":
    "The driver stays readable: one idea a file, checked (300 lines in the first edition; see docs/architecture.md).",
  "LOOP-15":
    "Unknown options and names (of `createAgent`, `run`, `send`, `defineTool`; in `activeTools`, `toolChoice`, `mode`) are refused with the option named, and the one meant where it is near.",
  "LOOP-17": "A forced `toolChoice` holds for the first model call of a run; `everyStep: true` keeps it.",
  "LOOP-21":
    "`agent.with()` keeps the store and everything else that it does not name; what is handed out (events, messages, approvals, results) is frozen or a copy on every store.",
  "LOOP-22": "Starting a run in a session costs what the model's window holds, not what the session's history holds.",
  "LOOP-16":
    "Model settings (`temperature`, `topP`, `topK`, `maxOutputTokens`, `stopSequences`, `seed`, `presencePenalty`, `frequencyPenalty`, `reasoning`) for an agent, a run and one model call; what a provider cannot do is a warning in the event, not a failure.",
  "LOOP-18":
    "`stopWhen`: conditions on the steps so far (`stepCount(n)`, `toolCalled(name)`, `textMatches(…)`, a function), looked at between steps; the run completes with reason `stop_condition` and the text so far. Recovered runs decide alike.",
  "LOOP-19":
    "A run may begin from a conversation of elsewhere: messages of user, assistant and tool, validated (each call has its result), AI SDK `ModelMessage`s and `UIMessage`s taken as they are; entered in the log once.",
  "LOOP-20":
    "`beforeLLMCall` may also change, for this call, the `model` (by name), the settings and the `messages` (a valid list: omitted, shortened or added ones); what was sent can be rebuilt from the log exactly (TRC-3).",
  // FIN: how a step ends
  "FIN-1":
    "`stop` without tool calls completes the run; its text is the message's text parts joined as they came (providers cut a text at each citation), trimmed; texts of several messages (continuations) are joined as they came too.",
  "FIN-2":
    "Tool calls are taken only from the final assistant message. They are run when the finish reason is `stop`, `tool-calls` or other; with a message that was cut (`length`, `content-filter`, `error`) they get the error result `not run`. `tool-calls` without calls for us to run counts as `stop`.",
  "FIN-3":
    "`length` near the context limit (input tokens ≥ 0.8 × budget; budget = context window − reserved output, 32k when unknown) drops the cut message, forces a compaction and repeats the same `modelCallIndex`; `length` with room left is an output cap: the model is asked to go on under a new index, texts joined, at most `maxContinuations` times (2). Past either: reason `context_limit` or `output_limit` with the text so far.",
  "FIN-4":
    "`content-filter`: failed, reason `content_filter`; `error` after retries: failed, reason `model_error`; any other: completed, reason `other`. Each has a fixed text, used where the model gave none.",
  "FIN-5":
    "An empty answer (no text, no calls) is not committed and asked again once under the same index, then reason `empty_response`; never an unbounded loop.",
  "FIN-6":
    "At `maxSteps` (200): reason `max_steps`. `onMaxSteps: 'summary'` (default) makes one more model call with no tools and `toolChoice: none` and a request for a summary; that exchange is not kept in the history, its usage counts; a fixed sentence stands in if it fails. `'stop'` gives the sentence at once. The session can go on afterwards.",
  "FIN-7":
    "A tool signals done by `throw new TaskComplete(message?)` or by returning `done(message?)`: the run completes with that message, or else the step's text, reason `done`. Siblings that started finish, others get the result `skipped`; the done call's result stays. `requireDoneTool` also makes an answer without calls no end: a fixed user message asks to go on or signal done.",
  "FIN-8":
    "Before a run completes by the model or the done tool, `beforeStop` hooks may return a message that keeps it going (unfinished work), at most `maxStopPreventions` times (3); never past a limit.",
  "FIN-9":
    "Provider pauses (`pause_turn`, provider-run calls without a result in an incomplete answer) go on with the next model call, counted as steps, at most 20 in a row.",
  "FIN-10":
    "What was streamed before an abort stays: the text, without half calls, is committed with the abort, shown, and marked as cut.",
  "FIN-11":
    "`beforeStop` and output checks may refuse an answer for good: reason `output_refused`; the refused text is not in the result.",
  // STRM: streams and events
  "STRM-1":
    "Whatever the provider sends is normalized to `MessageDelta {runId, modelCallIndex, attempt, seq, kind, …}`: `start` first; `seq` strictly increasing within an attempt; exactly one `done` or `error` last in each attempt. The start of an attempt is committed before its first delta, so attempts never repeat a number, after a kill too.",
  "STRM-2":
    "Deltas are de-duplicated by (`runId`, `modelCallIndex`, `attempt`, `seq`); repeated, out-of-order and late ones change nothing; a new attempt replaces the partial message of the old. The message is committed only on `done`.",
  "STRM-3": "A snapshot of the partial message can be had at any moment; snapshot + later deltas = final message.",
  "STRM-4":
    "Event order within a step: reasoning, text (not for a terminal answer), then for each call `call_start`, `tool_call`, `tool_result`, `call_complete` (`status: ok | error`, duration); calls side by side interleave, the order holds for each; `final` last and once, or `suspended` where the run waits for a person. Every `tool_call` has exactly one `tool_result`, on error and abort too.",
  "STRM-5":
    "Callbacks for those who want no iterator: `onText`, `onToolCall`, `onToolResult`, `onStepFinish`, `onResponse`, `onCompacted`. A callback or observer that throws, or never returns, cannot change or stop a run.",
  "STRM-6":
    "Public events derive from log events and carry the log's gap-free `seq`; deltas are live only and carry none. Any client can ask for everything after number N, live or after a restart, and gets a snapshot of what is being streamed; recovered runs emit the same terminal events as live ones. Disconnecting does not cancel; a cancel from any connection does.",
  "STRM-7":
    "A consumer more than 1,024 items behind gets one `lagged { fromSeq }` and goes on from the log; it neither stalls the run nor grows a queue.",
  "STRM-8":
    "Each model request carries `{ sessionId, runId, modelCallIndex, attempt }`; a delta that names another is a failure of kind `provider`.",
  "STRM-9":
    'Each public event has a place, `seq` and `index` within its entry; `events({ after: "57.2" })` gives exactly what follows. Reading from anywhere costs what is read, not what came before.',
  "STRM-10":
    "A `message` event holds the committed message of every step, the last one too: text, reasoning, calls, files, sources, provider metadata.",
  "STRM-11":
    "Events of child sessions can be had on the parent's stream (`children: true`), each with its session, parent call and depth, live and again after a restart.",
  // RTRY: failure of the model
  "RTRY-1":
    "A failure becomes a typed `ModelFailure` of one kind: `rate_limit, overloaded, timeout, network, context_overflow, quota, auth, invalid_request, content_filter, provider, cancelled`; from the provider's error (status, code, headers), not from a message match where a code exists.",
  "RTRY-2":
    "`RetryPolicy` is an interface: (failure, attempt, elapsed) → wait or give up; one can be given per model. The default looks at the kind first: retried are `rate_limit, overloaded, timeout, network` and `provider` with 500, 502, 503, 504, 529; never quota, auth, invalid requests; `context_overflow` compacts instead. Base 2 s, doubling, cap 30 s, jitter; at most 5 retries of one call; `Retry-After` honored up to 60 s, beyond it give up at once. `retry: { maxRetries, baseDelayMs, maxDelayMs, statusCodes }` adjusts it.",
  "RTRY-3":
    "A retry keeps the same `modelCallIndex`; completed calls are not run again; failed attempts' usage is counted.",
  "RTRY-4":
    "`errorCount` counts failed model attempts over the run, fallbacks included, and ends it at `maxErrors` (20).",
  "RTRY-5":
    "Timeouts: first chunk (2 min), between chunks (60 s), whole call (10 min), settable per model; a wait is ended at once by abort.",
  "RTRY-6": "A stream that fails in the middle is a failed attempt: retried like any other.",
  "RTRY-7": "`fallbacks`: models tried in order once the policy has given up on one.",
  // HOOK: hooks and observers
  "HOOK-1":
    'Hooks in array order, each seeing what the one before changed: `beforeRun` (may change the input or refuse), `beforeStep`, `beforeLLMCall` (may choose among the registered tools by name, and change system prompt, tool choice, provider options), `afterLLMCall` (also after a failure), `beforeToolCall` (may change the input, not the name; block with a reason; stop the run), `afterToolCall` (after execution, errors included; may replace the output, `undefined` too; only what it returns is logged), `afterStep`, `beforeStop` (may return a message), `onError` (may return `retry` or `giveUp`), `beforeCompaction` (may return what the summary must preserve, or skip a compaction that a person requested), `onCompacted`, `afterRun`. Those without a "may" return nothing.',
  "HOOK-2":
    "What a hook may change is its return type; anything else it returns is refused with a typed event. Hooks get frozen inputs.",
  "HOOK-3":
    "Each hook has a timeout (10 s) and its own abort signal; one that throws or hangs is cut off, named in the trace, and its `onFailure` decides: `open` (carry on without it) or `closed` (block the call, withhold the output, fail the step). Default `closed` for `beforeToolCall`, `afterToolCall` and permission, `open` for the rest. | A10.3 P27",
  "HOOK-4": "An abort during a hook means that the tool does not run.",
  "HOOK-5":
    "Observers only watch: they receive every committed event, delta and trace record, side by side and off the loop's path; their latency is not the loop's.",
  "HOOK-6": "Every hook's latency and outcome is in the trace. | A10.1",
  // TOOL: tool calls
  "TOOL-1":
    "A tool has a name, description, input schema (Standard Schema, or JSON Schema), and `execute(input, ctx)`; ctx has `signal`, `toolCallId`, `idempotencyKey`, `sessionId`, `runId`, `deps`, `services`, `progress()`. Optional: `readOnly`, `recover` (default `rerun` if `readOnly`, else `fail`), `needsApproval`, `sequential`, `timeoutMs`, `maxOutputBytes`, `executeRaw`. AI SDK tools work unchanged (they count as not read-only; one without `execute` waits until `session.provideResult` gives its result).",
  "TOOL-2": "Unknown tool: an error result `Error: Unknown tool '…'`, and the loop goes on. | B4.1",
  "TOOL-3":
    "Arguments that are not JSON: the call event carries `{ _raw }`; the tool is run with the raw text only if it has `executeRaw`; otherwise an error result says where parsing failed. Arguments that fail the schema get an error result that lists what failed. | B4.2",
  "TOOL-4":
    "A tool that throws, times out (10 min) or returns what cannot be stored gives a result with `isError` and the text `Error: …`; its siblings are kept. Values are normalized first (Date, Map, BigInt, cycles cut and marked); only the rest is an error. | B4.3 P32",
  "TOOL-5":
    "Every call ends in exactly one recorded result, whatever happens: done, error, denied, blocked, skipped, not run, aborted, interrupted. Provider ids that repeat within a message, a run or a session never mix two calls; what a provider is sent has unique ids.",
  "TOOL-6": "A call whose result is recorded is never executed again.",
  "TOOL-7":
    "Calls of a step run side by side up to `toolConcurrency` (8; 1 is serial, in order); tools marked `sequential` run alone; results enter the history in call order.",
  "TOOL-8": "`dependencyOverrides`: what tools get as `deps` can be replaced per run, for tests.",
  "TOOL-9":
    "A result over `maxOutputBytes` (50 KiB) is kept whole in the store and cut for the model by whole lines from head and tail (a single huge line by characters) with a reference; built-in tools `read_output` and `search_output` fetch the rest. Results of MCP tools too. A store failure there never fails the call.",
  "TOOL-10":
    "Three consecutive calls of a run with the same name and canonical input, successes too, raise a policy: tell the model once, then stop with `repeated_call` (default), ask a person, or nothing.",
  "TOOL-11":
    "A tool may start a child session (an agent as a tool): its id is derived from the parent's call by a keyed hash, so that a restart finds it and a stranger cannot guess it; the parent waits without holding anything, and is told even if the child's process died on the way; the child gets a reserved share of the parent's remaining budget and its usage counts there; abort reaches it; its approvals show at the top with the inner tool and input.",
  "TOOL-18": "Provider-defined tools: run by the provider, or by the caller with `execute`; tools with a text input.",
  "TOOL-12":
    "Durable steps in a tool: `ctx.step(name, fn)` runs `fn` once per call and name; its result (JSON) is committed before the tool goes on. A tool that is run again after a crash gets the results of the steps that it finished, and runs only the rest. Names that repeat get a count; a tool whose steps come in another order than recorded is told so.",
  "TOOL-13":
    "`ctx.ask({ message, schema? })` asks a person from inside a tool: durable, shown and answered like an approval, the answer recorded as a step; the tool may be let go while it waits and run again with the answer. MCP elicitation comes the same way.",
  "TOOL-14":
    "A tool may be an async generator: what it yields are preliminary results (events, shown, not sent to the model); what it returns, else the last one, is the result.",
  "TOOL-15":
    "`retry` on a tool (attempts, backoff, which errors) for tools that may be repeated (`readOnly`, `durable` or `rerun`); attempts are in the log and the trace.",
  "TOOL-16":
    "`repairToolCall` may mend a call that cannot be parsed, does not fit, or names an unknown tool (built in: near names, JSON with comments, trailing commas or fences); both versions are in the log.",
  "TOOL-17":
    "`ctx.messages` (what the model saw), in `needsApproval` and permission too; `ctx.data`: a JSON object of the session that tools read and change, committed with the result that changed it, forked and replayed with it, seen by hooks and context.",
  "AGENT-2":
    "A person asked anywhere below a run (any depth, beside siblings, after restarts) makes the run `awaiting_human` with that question; `resume`, `run` and workers never wait for ever.",
  "AGENT-1":
    "Handoffs: each entry of `handoffs` gives the model a tool that passes the conversation on to another agent within the same session: its prompt, tools and model from the next step on; what it sees of the history can be filtered; committed, recovered, shown; a limit on how often.",
  "AGENT-3": "A child may have an output schema; one that reaches a limit gives back what it found, marked as cut.",
  "AGENT-4":
    "Agents in files (`.pawl/agents/NAME.md`, yours, `.claude/agents`), in front: tools filtered, rules and mode of the top hold below, caps on depth, number, tokens, dollars; a kill starts none over; questions are asked anywhere; cost counts for the whole tree.",
  "AGENT-5":
    "Runs in the background: `pawl run --background` gives a task to a process that ends with its run, has a log, and parks its questions; `pawl agents` and `/agents` list what works, waits or was interrupted, with children below their parents, attach and stop.",
  // CTX: context
  "CTX-1":
    "A `ContextManager` builds what the model sees, deterministically, from session entries, input messages, system prompt and its per-run override, stable run data, variable hints and tool specifications; it returns messages, tool specifications and what to append, committed before the call. Input messages enter once. | D B2.1",
  "CTX-2": "The system prompt is sent once, first. | B2.1",
  "CTX-3":
    "Compaction by two triggers: before a call when the estimate or the last usage passes `triggerRatio` (0.75) of the budget, and forced on `length` or a provider's overflow error. `compactionAttempts` counts over the run; one that does not shrink counts double; at `maxCompactions` (20 a run, 2 in a row without a model call between) it stops: the call is still made, and only an overflow then ends with `context_limit`.",
  "CTX-4":
    "Compaction never parts a call from its result, in the kept tail or in the summarizer's input; keeps the last turns (4, fewer if they alone do not fit); the summarizer gets no tools; an empty or larger summary changes nothing; its failure does not fail the run; what a model sees always ends in a user or tool message.",
  "CTX-5":
    "Compaction appends an event; nothing is deleted: the full history stays readable, and a fork from before it sees the old messages.",
  "CTX-6": "`compaction: { auto: false }` is honored on overflow too.",
  "CTX-7": "Token counts: from the provider's usage where known, estimated between (pluggable tokenizer).",
  "CTX-8":
    "Old tool results may be trimmed oldest first to a total budget, off by default (it breaks prompt caches), with a reference to the full text.",
  "CTX-9":
    "Usage per step and per run (input, output, reasoning, cache read and write), failed and aborted attempts included and marked partial; cost from a price table the user may replace; unknown is never zero.",
  "CTX-10": "The assistant message is logged and sent back as received: all parts, order, provider metadata.",
  "CTX-11":
    "`AGENTS.md` files (root of the session upwards to the repository's, and the user's own) and skills (folders with `SKILL.md`: name and description in the prompt, the rest read when used) are context sources of the library and on in the command line; sizes bounded; changes seen at the next run.",
  // LIM: budgets
  "LIM-1":
    "`maxSteps` (200), `maxErrors` (20); `maxWallClockMs`, `maxTokens`, `maxCostUsd` off unless set. Each ends the run with its own reason, survives a restart and counts children. The wall clock also aborts what is running; it counts downtime, but not waiting for a person unless told to. | A10.4 P34",
  "LIM-2": "Bursts apart from totals: `maxToolCallsPerStep` (surplus calls get `blocked`) beside the limits of a run.",
  "LIM-3": "Reaching a limit leaves a session that can go on.",
  // HITL: people in the loop
  "HITL-1":
    "`canExecuteTool(call, ctx)` → allow, deny(reason, `stopRun?`) or ask; a throw denies. A tool may say `needsApproval` itself (true, or a function of its input). The strictest answer wins.",
  "HITL-2":
    "An asked call waits while others run; with only asked calls left the state is `awaiting_human`, `run()` returns with that status and the pending approvals, the stream ends `suspended`, and the process may exit; days later any process that opens the store lists and answers them.",
  "HITL-3":
    "Answers: `approve`, `deny(note)`, `modify(input)`, `abort`. Denied: an error result, and the model goes on. Modified: the answer approves the edited input's hash; it is validated, hooks and deny rules see it again, it is executed, and both versions are recorded and shown to the model.",
  "HITL-4":
    "An approval is bound to the call and a hash of its input; N parallel approvals are answered in any order and one at a time, and an approved call runs while others wait; a second answer is an idempotent no-op that says so.",
  "HITL-5": "Policy is not asked again for a decided call after a restart.",
  "HITL-6": "Where nobody can be asked and the caller said so (`interactive: false`), ask means deny, with the reason.",
  // REC: crash and recovery
  "REC-1":
    "What happened is committed before anything follows from it: state and events in one transaction with an expected sequence number; a writer with an old epoch or sequence is refused.",
  "REC-2":
    "A failed write stops the run at once; memory never runs ahead of the store; the caller gets `interrupted`, reason `store_failed`, and `resume` goes on.",
  "REC-3":
    'After a kill at any moment, `resume` carries on: no completed call runs again, the same `modelCallIndex` is reused, nothing is lost, no run stays "running" for ever.',
  "REC-4":
    'Each tool says how it recovers when its call had started and no result is known: `rerun` (safe to repeat, same `idempotencyKey`), `reconcile(call)` (asks the outside world), `ask` (a person), `fail` (an "interrupted, outcome unknown" result).',
  "REC-5":
    "`resume` on a finished run runs nothing and throws `run_finished`; on a run that another process holds it attaches to its events; with an agent that does not match the session's it is refused.",
  "REC-6": "Fork a session at any event; replay a recorded session against new code without touching the world.",
  "REC-7":
    "A crash kit that users can run on their own agents: it stops the process before and after every commit and checks the invariants.",
  "REC-8": "Abort in any state leaves a valid history: a result for every call; the next run works.",
  "REC-9":
    "A run that starts again 5 times without progress fails with `crash_loop`; progress sets the count back. A dead holder on this host can be replaced at once, a remote one when its lease ends; a clock that jumps, either way, and a laptop that slept neither fence a living holder nor lock a session for ever.",
  "REC-10":
    "SIGTERM drains: what can settle within the grace does, leases are released, the rest is `interrupted` and due.",
  // STOR: stores
  "STOR-1":
    "One conformance suite (90 tests or more), public, for every store: one writer with epoch and expected sequence, inbox with unique ids consumed in a commit, gap-free log, list by status, due, watch, blobs, delete, verify.",
  "STOR-2":
    "Any process may post (message, answer, abort) to a session that another holds; it arrives once, is never lost, and wakes the holder or makes the session due.",
  "STOR-3": "Cost of a commit and bytes written do not grow with the session.",
  "STOR-4":
    "Files are 0600; a damaged, foreign, read-only, full or locked database is a clear error and never a silent loss; `verify` finds damage; `delete` removes blobs and is refused while a run is active; old sessions can be pruned by age.",
  "STOR-5": "Every released format of the log can be read, folded and resumed.",
  // CLI: the command line
  "CLI-1":
    "`pawl run` runs a task on a folder with the model found or named, durable by default, streaming plain readable text; `--json` gives one event a line.",
  "CLI-2":
    "It asks before a tool that is not read-only (yes, no, edit, always for this tool in this run); where nobody can be asked it denies, or parks with `--park`.",
  "CLI-3":
    "Exit codes: 0 done, 2 usage, 3 waiting for a person, 4 a limit, 5 failed, 75 interrupted and resumable, 130 aborted. First Ctrl-C aborts cleanly, the second leaves at once.",
  "CLI-4":
    "`sessions`, `resume`, `doctor`, `approvals`, `approve`, `deny`, `steer`, `abort`, `fork`, `replay`, `trace`, `worker`; each with `--help` that shows an example, each with `--json`.",
  "CLI-5": "With no key and no server it uses the demo model and says so; a key that fails is an error.",
  "CHAT-1":
    "`pawl` on a terminal is a conversation: streamed Markdown, tools as they run with their output, diffs of edits, a prompt that stays (Enter steers, Tab queues, Esc aborts), history, multi-line, paste, `@path` completion; right at 40 to 200 columns, resized too.",
  "CHAT-2":
    "Approvals in place by one key: yes, no with a reason, edit (a diff or form, not a JSON string), always for this tool, command prefix or path in this session, project or user; rules are kept, listed and revocable; deny beats ask beats allow.",
  "CHAT-3":
    "Commands of the conversation: /help /model /resume /fork /compact /cost /context /approve /tools /mcp /export /quit …, and a session picker that knows folders, titles and search.",
  "CHAT-4":
    "Configuration: `pawl.config.json` (or `.pawl/`), `.mcp.json`, `AGENTS.md`, user and project; what a project brings (servers, permissions, hooks) works only after the folder was trusted, shown in full, and asked again when it changes.",
  "CHAT-5":
    "The first command works from a clone and from an installed package on Node 20 and 24, with any of: no key, a key, a local server; what is missing is said in one line that works for the way it was installed.",
  "CHAT-6":
    "Hooks in files, in Claude Code's form: published scripts run unchanged; a folder's hooks are trusted by the bytes of the file and of what it runs; time and output are bounded; the log names each hook, and no hook is called again for what it has decided.",
  // PLUG: plugins and the engine
  "PLUG-1":
    "`Engine` owns tools, models, agents, plugins and the store; `PluginManager` loads plugins `{name, version, dependencies?, setup(ctx), dispose?}` in dependency order; a cycle or a missing dependency is an error naming the path; `dispose` is called in reverse at shutdown.",
  "PLUG-2":
    "A plugin registers tools, hooks, observers, models and services. Of two tools with one name: options beat plugins, plugins beat built-ins, and two plugins are an error.",
  "PLUG-3": "Tools from MCP servers (stdio and HTTP) come in as a plugin, with trust settings per server.",
  // TRC: seeing it
  "TRC-1":
    "`LoopTrace`: per step, a summary of the input, hook latencies, attempts, first-chunk and total time, finish reason, usage, tool latencies, state changes; as JSON lines, and as OpenTelemetry spans with the GenAI conventions. | A10.1",
  "TRC-2":
    "Redaction is a function applied before anything is traced, logged to a file or shown; known key shapes are redacted by default. What is stored for the model changes only through hooks.",
  "TRC-3":
    "The log records what hooks changed (prompt and tool specifications once, by hash), so that any model request can be rebuilt exactly.",
  // OUT: answers with a shape
  "OUT-1":
    "`output: schema` on a run: the final answer is parsed, validated and typed in the result; the provider's JSON mode is used where there is one.",
  "OUT-2":
    "An answer that does not fit is sent back once with what failed; then the run ends with reason `invalid_output` and the raw text.",
  "OUT-3":
    "While an answer with a shape is streamed, `partial_output` deltas hold what can be parsed so far, typed as a deep partial.",
  // SEC: security
  "SEC-1":
    "No server without authentication, loopback included: a token of 128 bits or more is made at start, printed once as a link, compared in constant time. Refuse to bind anything but loopback without an explicit token; a unix socket can be used instead.",
  "SEC-2":
    "`Host` and `Origin` are compared exactly, as parsed URLs, with what is expected; anything else is 403. No CORS by default. Changes need `content-type: application/json` and the token; a token is never in a URL that is logged or sent on (the start link carries a one-time code in its fragment, exchanged for a cookie, HttpOnly and SameSite=Strict, and a second half that the page keeps and sends in a header: a cookie alone lets a page of another loopback port in).",
  "SEC-3":
    "Session, run and approval ids cannot be guessed (random, or a keyed hash) and are never authority by themselves: reading, streaming, approving, aborting each check the principal.",
  "SEC-4":
    "Limits: body size, JSON depth, number of streams, runs and sessions at once, rate; a clear 4xx, never a crash.",
  "SEC-5":
    "In the command line and the server: tools that are not read-only ask. In the library `createAgent` allows what its author registered unless a policy says otherwise. Everywhere: an unknown tool is an error, a policy that throws denies, deny beats ask beats allow.",
  "SEC-6":
    "An approval is bound to session, run, call and the SHA-256 of the canonical input; single use; who decided is recorded. An edit is the editor's approval of the edited hash; deny rules and hooks see it again. The whole command is shown, control characters made visible.",
  "SEC-7":
    'The shell tool is off unless asked for; argument vector, clean environment, process group killed on abort and timeout, output capped; sandboxed with bubblewrap where it is installed, and otherwise it says "not sandboxed".',
  "SEC-8":
    "File tools stay in their root: `realpath` of the deepest existing parent, compared with a separator, links out of the root refused, checked again at open. They never write the project's own configuration, hooks or store, even where those do not exist yet.",
  "SEC-9":
    "A fetch tool: http and https only; private, link-local and metadata addresses blocked after one resolution that is then connected to; redirects checked again; size and time capped.",
  "SEC-10":
    "MCP servers: the full command is shown and pinned; a change of a tool's schema or description asks again; annotations are hints from a stranger; minimal environment.",
  "SEC-11": "Tool output is data: it is labelled with its source and can grant nothing.",
  "SEC-12":
    "JSON from models, tools, stores and clients: size and depth checked, dangerous keys refused, tools looked up in a `Map`.",
  "SEC-13": "What the store returns is validated; no class is revived, nothing is evaluated.",
  "SEC-14":
    "Secrets stay out of events, traces and logs: handles are resolved inside the tool; redaction by value and by known shapes before anything is written or shown; content capture in OpenTelemetry is off by default; the database file is 0600; deleting a session deletes its blobs.",
  "SEC-15": "No regular expression from a user or a model runs on the main thread without a bound.",
  "SEC-16": "Dependencies without install scripts; `SECURITY.md` with the threat model.",
  "SEC-17":
    "What a folder brings (`.mcp.json`, permissions, skills, hooks, `AGENTS.md` that asks for tools) is untrusted: nothing of it is started, allowed or obeyed beyond text before the person has trusted this folder, has seen it whole, and again whenever it changed; never by `--yes`.",
  "SEC-18":
    "The inspector and the terminal show text of models, tools, files and servers as text: no markup, no escape sequences, no links that hide their address, no images fetched.",
  // SRV: the server
  "SEC-19":
    "Between processes: the holder's live stream is given only to peers with the secret, at addresses that were allowed; a database user needs no more than its own tables; connections to PostgreSQL verify certificates unless told otherwise.",
  "SRV-1":
    "`createServer` of `pawl/server` is a `fetch` handler with the routes of server.md section 2, mounted in Hono, Express, Next.js and `node:http` under any base path; described by OpenAPI 3.1 made from the schemas that check requests; every answer of the tests validates against it.",
  "SRV-2":
    "SSE with exact resume (section 3): a client cut anywhere loses nothing, gets nothing twice, and holds the same text; across approvals, retries, compaction, restarts, several processes, the holder killed.",
  "SRV-3":
    "Any process streams any session: log events from the store, live deltas from the holder, `live: none` told honestly.",
  "SRV-4":
    "Slow consumers, 1,000 watchers of one session and 1,000 idle ones cost what section 11 allows; no queue grows and no run waits.",
  "SRV-5": "Draining: no run is lost, streams are told; a second process carries on.",
  "SRV-6": "`/health`, `/ready`, `/metrics`; one line of log for each change.",
  "SRV-7": "`pawl serve [module]` serves a module's agents, or the folder agent.",
  "PROT-5": "`pawl/server/client`: the client's rule of section 3 in about 60 lines for browsers and Node, typed.",

  // BOX: the sandbox of commands
  "BOX-1":
    "Commands see the folder, the system, a home of their own for the folder, and named tool folders read-only; nothing else of the person's home, of Pawl's, of other processes; what other programs run later (`.git/hooks`, `.envrc`, editor tasks, …) is closed.",
  "BOX-2":
    "Network by an allow-list of hosts (empty at first; presets) through a proxy; a refused host is asked about as an input of the call, durably and bound.",
  "BOX-3": "`outside` is a field of the call, asked in words, never given by `--yes` or a rule for commands.",
  "BOX-4": '`sandbox: "required"`; without a sandbox it is said everywhere, with the reason and what to install.',
  "BOX-5":
    "One `/tmp`, one home and one network for a session: what one command leaves or serves is there for the next; after a kill nothing runs and nothing lies in the folder.",

  // UI: the inspector
  "UI-1":
    "The inspector shows what server.md section 7 lists: sessions, timeline, step, request as sent, approvals inbox, log, fork and replay, cost; live, and right again after a drop.",
  "UI-2":
    "10,000 steps stay quick (section 11); everything by keyboard; dark and light; accessible; every step has a URL; nothing leaves the origin.",
  "UI-3": "Text of models and tools can do nothing in the page (CSP, Trusted Types, an XSS corpus in every field).",

  // PROT: what other programs speak
  "PROT-1":
    "`useChat` of AI SDK 6 and 7, unmodified: stream, approve, deny, drop and resume in the same page and a new one, abort.",
  "PROT-2": "AG-UI `HttpAgent` 1.0, unmodified: runs, interrupts and resume with an edited input.",
  "PROT-3":
    "ACP over stdio (`pawl acp`), an editor's client unmodified: new, list, load, resume, prompt, permission, cancel.",
  "PROT-4":
    "An agent as an MCP server (`/mcp`, and `pawl mcp` on stdio): calls, progress, cancel, approvals as `input_required` where the client can be asked.",

  // DIST: more than one machine
  "DIST-1":
    "PostgreSQL keeps all rules of the store port: the whole conformance suite, the simulation's scenarios, real kills of clients *and* of the server, in CI against a real PostgreSQL.",
  "DIST-2":
    "Workers on several machines share one database: each session has one driver at a time whatever their clocks say; a worker that dies is replaced within its lease; a commit whose outcome is unknown (connection lost) is found out before anything follows.",
  "DIST-3":
    "Restate drives sessions for those who outgrow that: kills of its server and of the services lose nothing and repeat no keyed effect; waiting holds no invocation.",
  "DIST-4":
    "Deployments (containers, serverless, several machines) each have a page and a `compose.yaml` or the like that a test starts as far as this can be done without a container engine.",

  // COST: what a run costs
  "COST-1":
    'An agent asks its provider for the prompt cache by default (`promptCache`: `"auto"`, `"5m"`, `"1h"`, `"off"`): marks for Anthropic, Bedrock and OpenRouter, a key for OpenAI and xAI; at most four marks, none that a provider refuses; an author\'s own marks win; nothing of it is needed to rebuild a request.',
  "COST-2":
    "Request n+1 begins with request n byte for byte, unless a compaction, handoff, changed tool, prompt, model, tool choice or hook says otherwise; then the trace, `/cost` and the inspector name what broke it and what that cost.",
  "COST-3":
    "Compaction, the last summary, cut outputs, images and a changed AGENTS.md do not break the prefix; kill, resume and fork read what was cached.",
  "COST-4":
    "Prices of several hundred models by exact id, with long-context tiers and both cache lifetimes, generated with a date from a maintained source; the author's prices win; unknown is never zero; the bill equals the provider's rules.",
  "COST-5":
    "Many tools: `defer: true` on tools and MCP servers; the model finds them by `find_tools`; the list of tools never changes within a session; approvals, recovery, events and replay see the real call; what was found survives kill, fork and compaction.",
  "COST-6": "Every field of an AI SDK 6 or 7 tool is honored or warned of by name.",
  "EVAL-1":
    "A recorded session becomes a case by one command, redacted; cases by hand; tools answer from the record or from functions; nothing outside runs.",
  "EVAL-2":
    "`pawl eval`: a matrix of models and prompts, repetitions, a budget, progress; judges as functions and models; a baseline, JSON, JUnit, exit codes; a killed run goes on without paying twice; a page in the inspector.",
  // TYPE, PROT: types that reach the page and the tools; protocols
  "TYPE-1": "`deps` and a context for each run are typed in tools, hooks, policies and dynamic prompts.",
  "TYPE-2": "Items of a stream are typed by tool; a chat page gets `tool-NAME` parts.",
  "PROT-6":
    "MCP client: OAuth, resources, prompts, instructions, changed lists under trust, traces, tasks; `@modelcontextprotocol/conformance` passes.",
  "PROT-7":
    "MCP server: tasks (a run is a task that survives restarts; a question is `input_required`), resources, traces, OAuth resource server.",
  "PROT-8":
    "A2A, its client unmodified: a run is a task, a repeated message is the same task, also after a kill; answers, streams, cancel; card.",

  // TIME: agents that act by themselves, and are woken by the world
  "TIME-1":
    "`ctx.sleep(name, { ms | until })` in durable tools: held in no process, never early, ended by abort; the wall clock stands still; the result is `waiting`.",
  "TIME-2":
    "`ctx.waitFor(name, { key, schema, timeoutMs })` and `client.signal(key, value, { id })`: a signal is given once to each wait that is open for its key and to each that begins while it is kept, in order; a repeated id counts once; a misfit is passed over.",
  "TIME-3": "`session.send(input, { at })`, `scheduled()`, `unsend()`; the tool `remind_me`, bounded and approved.",
  "TIME-4":
    "Schedules (cron, interval, once; time zone, missed, overlap, jitter, pause): each slot is one run or is counted as skipped or missed, over any number of processes, kills, clock jumps and edits; DST as Vixie's rule. Commands, routes, page, serverless tick.",
  "TIME-5":
    "`POST /v1/signals/:key` and verified webhooks (Standard Webhooks, GitHub, Stripe); without permission they are not there.",
  "TIME-6":
    "Notices by webhook when a run waits for a person or ends: written with the commit, at least once with one id, or listed as dead; signed; no private addresses. Browsers that subscribe get them by Web Push.",
} as const satisfies { readonly [id: string]: string };

type Id = keyof typeof rows;

/** Rows that are owed in parts, or proved in parts. */
const partsOf: { readonly [id in Id]?: readonly string[] } = {
  "EVAL-1": ["case", "play", "redaction", "outside"],
  "EVAL-2": ["command", "judges", "resume", "page"],
  "LOOP-4": ["counters", "zero"],
  "LOOP-8": ["one-process", "between-processes"],
  "LOOP-10": ["signal", "intent"],
  "FIN-3": ["output-cap", "context-limit"],
  "LOOP-12": ["toolChoice", "done-tool", "services", "compaction"],
  "REC-6": ["fork", "replay"],
  "TOOL-1": ["schema", "context", "recover", "ai-sdk", "external"],
  "TOOL-2": ["lookup", "loop"],
  "TOOL-3": ["position", "issues", "raw"],
  "TOOL-4": ["thrown", "timeout", "normalized", "unstorable"],
  "TOOL-5": ["results", "ids"],
  // part-1: run, sessions, resume, abort, doctor; part-2: approvals, approve, deny, steer, fork, worker; then replay, and trace.
  "CLI-4": ["part-1", "part-2", "replay", "trace"],
  "SEC-3": ["library", "server"],
  // token: none without, compared by hash; binding: other addresses than this machine's own.
  "SEC-1": ["token", "binding"],
  // requests: hosts, origins, JSON; page: the start code, the cookie and its second half.
  "SEC-2": ["requests", "page"],
  // one-process: cuts, attempts, approvals; processes: several of them, one killed.
  "SRV-2": ["one-process", "processes"],
  // change: another agent from the next step on; filters: what it sees of the history.
  "AGENT-1": ["change", "filters"],
  // files: read, trusted, called; rules: those of the top hold below; kill: none starts over; caps: the number of children.
  // Not owed yet: the cost of the tree on the screen.
  "AGENT-4": ["files", "rules", "kill", "caps", "cost"],
  // ask: ctx.ask in a durable tool; mcp: elicitation by MCP servers.
  "TOOL-13": ["ask", "mcp"],
  "SEC-5": ["command-line", "library", "server"],
  // bound: to session, run, call and input, once, with who decided; edit: deny rules and hooks see it again.
  // library: what the sources of context leave out and label; settings: pawl.config.json; servers: .mcp.json.
  "SEC-17": ["library", "settings", "servers"],
  // screen: the history and the live region; view: Markdown, tools, diffs; keys: the prompt and what each key does;
  // kill: the session after a kill, and the terminal's modes; plain: without a live screen; paths: completion of @path.
  "CHAT-1": ["screen", "view", "keys", "kill", "plain", "paths", "first-frame", "code", "diff", "screens", "day"],
  "CHAT-2": ["keys", "rules"],
  // settings: pawl.config.json and pawl config; servers: .mcp.json and pawl mcp.
  "CHAT-4": ["settings", "servers"],
  // file: what hooks.json may contain; events: what scripts read and answer; limits: environment, time, output; log: replay.
  "CHAT-6": ["file", "trust", "events", "limits", "log", "screen", "guide"],
  "CHAT-3": ["sessions", "look", "undo", "compact", "people", "choices"],
  "SEC-18": ["page", "terminal"],
  // screens: sessions, timeline, step, request, approvals, log, live and after a drop; more: fork, replay, cost.
  "UI-1": ["screens", "more"],
  // processes: the live stream between processes of a server; database: users and certificates.
  "SEC-19": ["processes", "database"],
  // kills: of clients and of the server; simulation: its scenarios on PostgreSQL.
  "DIST-1": ["conformance", "kills", "simulation"],
  // clocks: they differ by more than a lease; death: of a worker; outcome: of a commit whose connection was lost.
  "DIST-2": ["clocks", "death", "outcome"],
  "PROT-4": ["stdio", "http"],
  // store: its rows; schedules: what fires them.
  "TIME-4": ["store", "schedules"],
  // store: its rows; delivery: requests and retries; kill: of the worker that delivers; push: to browsers.
  "TIME-6": ["store", "delivery", "kill", "push"],
  // deps: those of the agent; params: those of a run; prompt: a system prompt that is made for each run.
  "TYPE-1": ["deps", "params", "prompt"],
  // types: of tools and items, for the compiler; page: parts of a chat page, streamed and loaded.
  "TYPE-2": ["types", "page"],
  // lists: changed ones, lifetimes and bad tools; structured: content with a schema, defaults of questions.
  "PROT-6": ["lists", "login", "structured", "resources", "prompts", "instructions", "trace", "tasks", "conformance"],
  "PROT-7": ["tools", "resources", "oauth", "trace", "tasks"],
  "SEC-6": ["bound", "edit", "shown"],
  // answers: validated and seen by what denies; hooks see an edit too.
  "HITL-3": ["answers", "hooks"],
};

const owed: ReadonlySet<string> = new Set<Id | `${Id}#${string}`>([
  "LOOP-1",
  "LOOP-2",
  "LOOP-3",
  "LOOP-4",
  "LOOP-5",
  "LOOP-6",
  "LOOP-7",
  "LOOP-8",
  "LOOP-9",
  "LOOP-10",
  "LOOP-11",
  "LOOP-12",
  "LOOP-13",
  "LOOP-14",
  "LOOP-22",
  "FIN-1",
  "FIN-2",
  "FIN-8",
  "FIN-3",
  "FIN-4",
  "FIN-5",
  "FIN-6",
  "FIN-7",
  "STRM-1",
  "STRM-2",
  "STRM-3",
  "STRM-4",
  "STRM-5",
  "STRM-6",
  "STRM-7",
  "STRM-8",
  "STRM-9",
  "STRM-11",
  "AGENT-3",
  "TOOL-1",
  "TOOL-2",
  "TOOL-3",
  "TOOL-4",
  "TOOL-5",
  "TOOL-6",
  "TOOL-7",
  "TOOL-11",
  "TOOL-14",
  "TOOL-15",
  "TOOL-16",
  "TOOL-8",
  "TOOL-9",
  "TOOL-10",
  "CTX-1",
  "CTX-2",
  "CTX-3",
  "CTX-4",
  "CTX-5",
  "CTX-6",
  "CTX-7",
  "CTX-8",
  "SEC-11",
  "CTX-9",
  "CTX-10",
  "RTRY-1",
  "HOOK-1",
  "HOOK-2",
  "HOOK-3",
  "HOOK-4",
  "HOOK-5",
  "HOOK-6",
  "TRC-3",
  "LIM-1",
  "LIM-2",
  "LIM-3",
  "RTRY-2",
  "RTRY-3",
  "RTRY-4",
  "RTRY-5",
  "RTRY-6",
  "RTRY-7",
  "HITL-1",
  "HITL-2",
  "HITL-3",
  "HITL-4",
  "HITL-5",
  "HITL-6",
  "SRV-2#one-process",
  "SRV-2#processes",
  "SRV-3",
  "SRV-4",
  "SEC-19#processes",
  "SEC-19#database",
  "DIST-1",
  "DIST-2",
  "DIST-3",
  "DIST-4",
  "SEC-1",
  "SEC-2",
  "SEC-3#server",
  "SEC-4",
  "REC-1",
  "REC-2",
  "REC-3",
  "REC-4",
  "REC-5",
  "REC-7",
  "REC-6",
  "REC-8",
  "REC-9",
  "REC-10",
  "STOR-1",
  "STOR-2",
  "STOR-3",
  "STOR-4",
  "STOR-5",
  "CLI-1",
  "CLI-2",
  "CLI-3",
  "CLI-4#part-1",
  "CLI-4#part-2",
  "CLI-4#replay",
  "CLI-4#trace",
  "CLI-5",
  "PLUG-1",
  "PLUG-2",
  "PLUG-3",
  "SEC-5#command-line",
  "SEC-5#library",
  "SEC-6",
  "TRC-1",
  "TRC-2",
  "OUT-1",
  "OUT-2",
  "SEC-7",
  "SEC-8",
  "SEC-10",
  "SEC-12",
  "SEC-13",
  "SEC-14",
  "FIN-9",
  "FIN-10",
  "FIN-11",
  "LOOP-15",
  "LOOP-16",
  "LOOP-17",
  "LOOP-18",
  "LOOP-19",
  "OUT-3",
  "LOOP-20",
  "LOOP-21",
  "STRM-10",
  "TOOL-18",
  "TOOL-17",
  "AGENT-1",
  "TOOL-12",
  "TOOL-13",
  "AGENT-2",
  "AGENT-5",
  "CHAT-1",
  "CHAT-2",
  "CHAT-4",
  "CHAT-1#paths",
  "CHAT-1#screens",
  "CHAT-1#day",
  "CHAT-1#first-frame",
  "CHAT-1#code",
  "CHAT-1#diff",
  "CHAT-4#settings",
  "CHAT-2#keys",
  "CHAT-3#sessions",
  "CHAT-3#look",
  "CHAT-3#undo",
  "CHAT-3#compact",
  "SEC-18#terminal",
  "SEC-18",
  "CHAT-5",
  "CHAT-6",
  "SEC-3#library",
  "SEC-9",
  "SEC-15",
  "SEC-16",
  "CTX-11",
  "SEC-17",
  "PROT-1",
  "PROT-2",
  "PROT-3",
  "PROT-4",
  "PROT-5",
  "SRV-1",
  "SRV-5",
  "SRV-6",
  "SRV-7",
  "UI-1",
  "UI-2",
  "UI-3",
  "SEC-18#page",
  "SEC-5#server",
  "COST-1",
  "COST-2",
  "COST-3",
  "COST-4",
  "COST-5",
  "COST-6",
  "EVAL-1",
  "EVAL-2#command",
  "EVAL-2#judges",
  "EVAL-2#resume",
  "BOX-1",
  "BOX-2",
  "BOX-3",
  "BOX-4",
  "BOX-5",
  "TYPE-1",
  "TYPE-2",
  "PROT-6#instructions",
  "PROT-6#lists",
  "PROT-6#login",
  "PROT-6#prompts",
  "PROT-6#resources",
  "PROT-6#structured",
  "PROT-6#tasks",
  "PROT-6#trace",
  "PROT-7#oauth",
  "PROT-7#resources",
  "PROT-7#tasks",
  "PROT-7#trace",
  "PROT-8",
  "TIME-1",
  "TIME-2",
  "TIME-3",
  "TIME-4",
  "TIME-5",
  "TIME-6",
  "AGENT-4#files",
  "AGENT-4#rules",
  "AGENT-4#caps",
  "AGENT-4#kill",
]);

export const requirements: readonly Requirement[] = Object.entries(rows).map(([id, text]) => {
  const parts = partsOf[id as Id];
  if (parts === undefined) return { id, text, owed: owed.has(id) };
  const owedParts = parts.filter((part) => owed.has(`${id}#${part}`));
  return { id, text, parts, owed: owed.has(id) || owedParts };
});

/** Everything that a test may cite: each row, and each part of a row as `id#part`. */
const citable: ReadonlySet<string> = new Set(
  requirements.flatMap(({ id, parts = [] }) => [id, ...parts.map((part) => `${id}#${part}`)]),
);

/** The citations that name no row and no part of one. */
export function unknownCitations(citations: Iterable<string>): readonly string[] {
  return [...new Set(citations)].filter((citation) => !citable.has(citation));
}

/** What is owed, one by one: a row, or a part of a row as `id#part`. */
export function owedCitations(): readonly string[] {
  return requirements.flatMap((row) => {
    if (row.owed === false) return [];
    const parts = row.owed === true ? row.parts : row.owed;
    return parts === undefined ? [row.id] : parts.map((part) => `${row.id}#${part}`);
  });
}

/** What is owed and not among the citations of the tests that passed. */
export function unproved(citations: Iterable<string>): readonly string[] {
  const proved = new Set(citations);
  return owedCitations().filter((id) => !proved.has(id) && !proved.has(rowOf(id)));
}

function rowOf(citation: string): string {
  const hash = citation.indexOf("#");
  return hash < 0 ? citation : citation.slice(0, hash);
}
