/**
 * Functions that take what a model, a server or a file says: each takes linear time, whatever it is given.
 *
 * The table is held to what their modules export. A new function does not pass until it has a case here, or a reason why
 * it needs none.
 */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import * as cliRedaction from "../../src/cli/terminal/redaction.js";
import * as cliText from "../../src/cli/terminal/text.js";
import * as hiddenCharacters from "../../src/core/data/hidden-characters.js";
import * as json from "../../src/core/data/json.js";
import * as jsonFault from "../../src/core/data/json-fault.js";
import * as jsonWeight from "../../src/core/data/json-weight.js";
import * as escapes from "../../src/core/data/skeleton.js";
import * as errorBody from "../../src/models/ai-sdk/error-body.js";
import * as failure from "../../src/models/ai-sdk/failure.js";
import * as retryAfter from "../../src/models/ai-sdk/retry-after.js";
import * as streamRedaction from "../../src/runtime/agent/stream-redaction.js";
import * as redaction from "../../src/runtime/observers/redact.js";
import * as toJson from "../../src/runtime/tools/to-json.js";
import * as mcpOptions from "../../src/tools/mcp/options.js";
import * as mcpSpecification from "../../src/tools/mcp/tool-list.js";
import * as mcpResult from "../../src/tools/mcp/tool-output.js";
import * as fetchRequest from "../../src/tools/web/fetch-request.js";
import * as fetchBody from "../../src/tools/web/response-body.js";
import * as webhooks from "../../src/webhooks/index.js";
import { verifies } from "../verifies.js";
import type { Case, Cases, NoCaseReason } from "./cases.js";
import { expectShortBlocks } from "./plain-pass.js";
import { storedModules } from "./stored.js";

const length = 128 * 1024;

/** Pieces that are repeated: what a pattern may begin with again and again, without ever being whole. */
const pieces: readonly string[] = [
  ...["a", " ", "\n", "\\", '"', "\\u00", "\\u005c", "/", "://", "http://a:", "@", "a:b@", "-", "_", "=", "0", "1."],
  ...[
    "[",
    '{"a":',
    "[[],",
    '"\\',
    "eyJ",
    "eyJaaaaaaaa.",
    "sk-ant-",
    "sk-",
    "Bearer ",
    "Basic A",
    "AKIA",
    "ghp_",
    "xoxb-",
  ],
  ...[
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "<meta ",
    "<title",
    "<",
    "%",
    "(",
    "é",
    "漢",
    "🔑",
    "\ud83d",
    "e\u0301",
  ],
  ...["\u0301", "\u200d", "👨\u200d", "\u202e", "\u2800", "charset=", ";", "pass", "correct horse "],
];

const inputs = pieces.map((piece) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length));

const all = inputs.join("");

/** Gives the event loop back between the inputs, so that each counts alone. */
async function playAll(play: Case): Promise<void> {
  for (const input of inputs) {
    try {
      await play(input);
    } catch {
      // A refusal is a good answer.
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const secrets = ['pass"word\\with\ttabs', "correct horse battery", "a".repeat(1_000), "\\".repeat(10)];
const known = redaction.createRedaction({ values: secrets });

const answer = (text: string, contentType = "text/html") =>
  Object.assign(Readable.from([Buffer.from(text)]), {
    headers: { "content-type": contentType },
  }) as unknown as IncomingMessage;

/** The same text in each header and as the body. */
const deliver = (verify: webhooks.VerifyWebhook) => (text: string) =>
  verify({ headers: { get: () => text.slice(0, 4_096) } }, new TextEncoder().encode(text));

const streamed = (text: string) => {
  const pass = cliRedaction.createTerminalRedaction({ API_KEY: secrets[0] }).stream();
  const ids = { runId: "r", modelCallIndex: 1, attempt: 1 };
  for (const [index, part] of [text.slice(0, 1_000), text.slice(1_000)].entries())
    pass({ type: "delta", delta: { ...ids, seq: index + 1, kind: "text-delta", id: "t", text: part } });
  return pass({ type: "delta", delta: { ...ids, seq: 3, kind: "text-end", id: "t" } });
};

const modules = {
  json: [
    json,
    {
      isDangerousKey: "compares with three words",
      parseJson: json.parseJson,
      checkJson: (text) => json.checkJson({ [text]: [text] }),
      copyJson: "of values that were checked",
      canonicalJson: "of values that were checked",
      isSameJson: "of values that were checked",
      formatPath: (text) => json.formatPath([text, 0, text]),
    } satisfies Cases<typeof json>,
  ],
  jsonFault: [jsonFault, { findJsonFault: jsonFault.findJsonFault } satisfies Cases<typeof jsonFault>],
  jsonWeight: [
    jsonWeight,
    {
      weighJson: (text) => jsonWeight.weighJson({ [text]: text.slice(0, 20_000).split("") }),
      measureSchema: (text) => jsonWeight.measureSchema({ properties: { [text]: text.slice(0, 20_000).split("") } }),
    } satisfies Cases<typeof jsonWeight>,
  ],
  escapes: [escapes, { skeletonOf: escapes.skeletonOf } satisfies Cases<typeof escapes>],
  hiddenCharacters: [
    hiddenCharacters,
    { showHidden: hiddenCharacters.showHidden, escapeCharacter: "of one character" } satisfies Cases<
      typeof hiddenCharacters
    >,
  ],
  redaction: [
    redaction,
    {
      createRedaction: known,
      createGuardedRedact: redaction.createGuardedRedact(known),
      redactOutput: (text) => redaction.redactOutput({ type: "text", text }, known),
      redactContent: (text) =>
        redaction.redactContent({ [text.slice(0, length / 2)]: text.slice(0, length / 2) }, known),
      redactJson: (text) => redaction.redactJson({ [text.slice(0, length / 2)]: text.slice(0, length / 2) }, known),
    } satisfies Cases<typeof redaction>,
  ],
  cliRedaction: [
    cliRedaction,
    {
      listSecrets: "of the environment of the person",
      createTerminalRedaction: streamed,
    } satisfies Cases<typeof cliRedaction>,
  ],
  streamRedaction: [
    streamRedaction,
    {
      createStreamRedaction: "of a stream: the case of createTerminalRedaction is one of it",
      safeLength: (text) => streamRedaction.safeLength(text, { redact: known, secrets }),
    } satisfies Cases<typeof streamRedaction>,
  ],
  cliText: [
    cliText,
    {
      sanitize: cliText.sanitize,
      isPlainText: cliText.isPlainText,
      sanitizeStrictly: cliText.sanitizeStrictly,
      segmentText: "each character is asked for on its own",
      widthOf: cliText.widthOf,
      truncate: (text) => cliText.truncate(text, 80),
      toOneLine: cliText.toOneLine,
      summarizeInput: (text) =>
        cliText.summarizeInput({ a: text.slice(0, length / 2), b: text.slice(0, length / 2) }, 80),
      summarizeResult: (text) => cliText.summarizeResult(text, true),
      firstLine: cliText.firstLine,
      hasFailedCommand: cliText.hasFailedCommand,
      formatInput: (text) => cliText.formatInput({ command: text }),
      formatDuration: "of a number",
      formatAge: "of a number",
      formatCount: "of a number",
      formatJsonLine: cliText.formatJsonLine,
      parseDollars: cliText.parseDollars,
      parseDuration: cliText.parseDuration,
      quotePath: cliText.quotePath,
      joinWords: (text) => cliText.joinWords([text, text], "or"),
      wrapWords: (text) => cliText.wrapWords(text, 80),
      formatFailure: (text) => cliText.formatFailure(text, 80),
    } satisfies Cases<typeof cliText>,
  ],
  toJson: [
    toJson,
    {
      toToolOutput: toJson.toToolOutput,
      normaliseJson: (text) => toJson.normaliseJson({ [text]: text.slice(0, 20_000).split("") }),
    } satisfies Cases<typeof toJson>,
  ],
  errorBody: [
    errorBody,
    {
      readErrorBody: (text) => errorBody.readErrorBody({ responseBody: text, message: text }),
    } satisfies Cases<typeof errorBody>,
  ],
  failure: [
    failure,
    {
      toModelFailure: (text) =>
        failure.toModelFailure(Object.assign(new Error(text), { responseBody: text, statusCode: 400 }), 0),
      isConnectionClosed: (text) => failure.isConnectionClosed({ kind: "network", message: text, code: text }),
    } satisfies Cases<typeof failure>,
  ],
  retryAfter: [
    retryAfter,
    {
      readRetryAfter: (text) => retryAfter.readRetryAfter({ "retry-after": text }, [{ retryDelay: `${text}s` }], 0),
    } satisfies Cases<typeof retryAfter>,
  ],
  fetchBody: [
    fetchBody,
    {
      mediaTypeOf: (text) => fetchBody.mediaTypeOf(answer("", text)),
      isTextMediaType: fetchBody.isTextMediaType,
      readTextBody: (text) => fetchBody.readTextBody(answer(text), length),
    } satisfies Cases<typeof fetchBody>,
  ],
  fetchRequest: [
    fetchRequest,
    {
      parseFetchUrl: (text) => fetchRequest.parseFetchUrl(`http://${text}`.slice(0, 8_000)),
      sendGet: "takes a URL that was checked",
    } satisfies Cases<typeof fetchRequest>,
  ],
  webhooks: [
    webhooks,
    {
      standard: deliver(webhooks.standard("whsec_AAAA")),
      github: deliver(webhooks.github("secret")),
      stripe: deliver(webhooks.stripe("secret")),
      // A class counts as a function that is exported.
      ...{ WebhookError: "an error" },
    } satisfies Cases<typeof webhooks>,
  ],
  mcpOptions: [
    mcpOptions,
    {
      checkMcpOptions: "of the options of the author",
      formatPeer: "of the options of the author",
      formatServer: (text) => mcpOptions.formatServer({ type: "stdio", command: text, args: [text.slice(0, 1_000)] }),
      hashServer: "of the options of the author",
      hashJson: (text) => mcpOptions.hashJson({ [text]: text }),
    } satisfies Cases<typeof mcpOptions>,
  ],
  mcpResult: [
    mcpResult,
    { toToolOutput: (text) => mcpResult.toToolOutput({ content: [{ type: "text", text }] }) } satisfies Cases<
      typeof mcpResult
    >,
  ],
  mcpSpecification: [
    mcpSpecification,
    {
      parseListing: (text) =>
        mcpSpecification.parseListing(
          [
            { name: text, description: text, inputSchema: { type: "object", description: text } },
            { name: "b", inputSchema: { type: "object", properties: { [text]: { pattern: text, format: text } } } },
            { name: "c", inputSchema: { type: "object", properties: { a: { "x-mcp-header": text, type: text } } } },
          ],
          { server: "s", wantedTools: undefined, overHttp: true },
        ),
    } satisfies Cases<typeof mcpSpecification>,
  ],
  ...storedModules,
} as const satisfies {
  readonly [name: string]: readonly [module: object, cases: { readonly [name: string]: Case | NoCaseReason }];
};

describe.each(Object.entries(modules))("%s", (_name, [module, cases]) => {
  test("every function is in the table", () => {
    const exported = Object.entries(module).flatMap(([name, member]) => (typeof member === "function" ? name : []));
    expect(Object.keys(cases).sort()).toEqual(exported.sort());
  });

  const played = Object.entries<Case | NoCaseReason>(cases).flatMap(([name, play]) =>
    typeof play === "string" ? [] : [[name, play] as const],
  );
  if (played.length > 0)
    test.each(played)("%s takes linear time", verifies("SEC-15"), async (name, play) => {
      try {
        await expectShortBlocks(name, all, () => playAll(play));
      } catch {
        // Which input it was.
        for (const [index, input] of inputs.entries())
          await expectShortBlocks(`${name} of ${JSON.stringify(pieces[index])}, repeated,`, input, () => play(input));
      }
    });
});
