/**
 * The rooms of `src`: what each is for, and which other rooms it may import. The import rules (.dependency-cruiser.cjs), the table and the
 * picture in docs/architecture.md, and `npm run rooms` all go by this list.
 *
 * The order is the order of reading, from the bottom up. A room imports only rooms above its own line in this list, so there is no cycle.
 */
const core = ["core/data", "core/machine", "core/transcript", "core/view"];
const contracts = [...core, "check-options.ts", "check-tool.ts", "errors.ts", "platform", "ports"];

const rooms = [
  { room: "core/data", about: "messages, JSON, reasons: plain data and functions on it", imports: [] },
  {
    room: "core/machine",
    about: "events, state, transition, consequences, effects: the loop as pure functions",
    imports: ["core/data"],
  },
  {
    room: "core/transcript",
    about: "what a model sees of the log, kept up to date entry by entry",
    imports: ["core/data", "core/machine"],
  },
  {
    room: "core/view",
    about: "the public view of a session: events and results",
    imports: ["core/data", "core/machine", "core/transcript"],
  },
  {
    room: "stream",
    about: "cursors and other names in a session's stream; the same code in Node and in the browser",
    imports: [],
  },
  { room: "ports", about: "the contracts: store, model, tool, hook, context, services, clock", imports: core },
  { room: "platform", about: "what differs between runtimes, implemented for Node", imports: ["ports"] },
  {
    room: "platform/web",
    about: "the same with Web APIs only; a build substitutes it for `platform`",
    imports: ["platform"],
  },
  {
    room: "context",
    about: "when, where and how a conversation is shortened; tokens; prices; truncated outputs",
    imports: contracts,
  },
  {
    room: "runtime/lib",
    about: "small helpers that know nothing of agents",
    imports: ["core/data", "platform", "ports"],
  },
  {
    room: "runtime/tools",
    about: "compiles a tool's declaration into something that can be validated and stored",
    imports: contracts,
  },
  {
    room: "runtime/log",
    about: "reads what was committed, and checks what a store returns",
    imports: [...contracts, "context", "stream", "runtime/lib"],
  },
  {
    room: "runtime/model",
    about: "one attempt of a model call, from request to whole message",
    imports: [...contracts, "runtime/lib", "runtime/tools"],
  },
  {
    room: "runtime/observers",
    about: "observers and callbacks, and what is redacted for them",
    imports: [...contracts, "runtime/lib"],
  },
  {
    room: "runtime/agent",
    about: "an agent's options, checked and compiled once",
    imports: [...contracts, "context", "runtime/lib", "runtime/model", "runtime/observers", "runtime/tools", "stream"],
  },
  {
    room: "runtime/trace",
    about: "the trace: a view of the log",
    imports: [...contracts, "runtime/agent", "runtime/lib", "runtime/log", "runtime/observers"],
  },
  {
    room: "stream/tail",
    about: "joins a session's log with what happens live, for one consumer",
    imports: ["core/data", "core/view", "ports", "runtime/agent", "stream"],
  },
  {
    room: "runtime/subscribers",
    about: "the subscribers of a session in this process",
    imports: [...contracts, "runtime/agent", "runtime/log", "runtime/model", "runtime/trace", "stream/tail"],
  },
  {
    room: "runtime/work",
    about: "the context of an effect while it runs",
    imports: [
      ...contracts,
      "context",
      "runtime/agent",
      "runtime/lib",
      "runtime/model",
      "runtime/subscribers",
      "runtime/tools",
    ],
  },
  {
    room: "runtime/hooks",
    about: "calls hooks, and checks what they return",
    imports: [...contracts, "runtime/agent", "runtime/lib", "runtime/tools", "runtime/work"],
  },
  {
    room: "runtime/effects",
    about: "one file for each effect: what the loop does to the world",
    imports: [
      ...contracts,
      "context",
      "runtime/agent",
      "runtime/hooks",
      "runtime/lib",
      "runtime/log",
      "runtime/model",
      "runtime/subscribers",
      "runtime/tools",
      "runtime/work",
    ],
  },
  {
    room: "runtime/driver",
    about: "commit, compare, start, abort: the only writer of a session",
    imports: [
      ...contracts,
      "runtime/agent",
      "runtime/effects",
      "runtime/hooks",
      "runtime/lib",
      "runtime/log",
      "runtime/subscribers",
      "runtime/work",
    ],
  },
  {
    room: "runtime/replay",
    about: "replays a recorded log against the current code",
    imports: [
      ...contracts,
      "runtime/agent",
      "runtime/effects",
      "runtime/lib",
      "runtime/log",
      "runtime/model",
      "runtime/tools",
      "runtime/work",
    ],
  },
  {
    room: "runtime/session",
    about: "one session in this process: driven here, or followed",
    imports: [
      ...contracts,
      "runtime/agent",
      "runtime/driver",
      "runtime/lib",
      "runtime/log",
      "runtime/subscribers",
      "runtime/tools",
      "runtime/trace",
      "runtime/work",
      "stream",
      "stream/tail",
    ],
  },
  {
    room: "runtime/api",
    about: "what a user works with: agent, session, client",
    imports: [
      ...contracts,
      "context",
      "runtime/agent",
      "runtime/driver",
      "runtime/effects",
      "runtime/lib",
      "runtime/log",
      "runtime/model",
      "runtime/observers",
      "runtime/replay",
      "runtime/session",
      "runtime/subscribers",
      "runtime/tools",
      "runtime/work",
      "stream",
      "stream/tail",
    ],
  },
  {
    room: "engine",
    about: "plugins, agents by name, and the worker that fires due schedules and drives due sessions",
    imports: [
      ...contracts,
      "engine/schedules",
      ...["runtime/agent", "runtime/api", "runtime/lib", "runtime/model", "runtime/tools"],
    ],
  },
  {
    room: "engine/schedules",
    about: "schedules: their slots, and the runs that they post",
    imports: [...contracts, "runtime/agent", "runtime/api", "runtime/lib"],
  },
  { room: "stores/shared", about: "what every store needs: leases, validation, watchers", imports: contracts },
  { room: "stores/memory", about: "the store in memory", imports: [...contracts, "stores/shared"] },
  { room: "stores/sqlite", about: "the store in one SQLite file", imports: [...contracts, "stores/shared"] },
  {
    room: "stores/postgres",
    about: "the store for several machines, in a PostgreSQL database",
    imports: [...contracts, "stores/shared"],
  },
  {
    room: "stores/transfer",
    about: "exports and imports sessions as lines of text, to move them between stores",
    imports: [...contracts, "stores/shared"],
  },
  { room: "models/facts", about: "prices and context windows", imports: ["core/data", "ports"] },
  { room: "models/ai-sdk", about: "adapts language models of the AI SDK", imports: contracts },
  { room: "models/demo", about: "the demo model, which needs no key", imports: [...core, "ports"] },
  {
    room: "models/recorded",
    about: "records a model's answers, and replays them",
    imports: [...contracts, "models/ai-sdk"],
  },
  {
    room: "models/registry",
    about: "models by name, and the choice of one when none is named",
    imports: [...contracts, "models/ai-sdk", "models/demo", "models/facts"],
  },
  {
    room: "models/registry/web",
    about: "the same with Web APIs only, without models by name",
    imports: [...contracts, "models/registry"],
  },
  { room: "notices", about: "delivers notices: signed webhooks that go out", imports: [...contracts, "tools/web"] },
  { room: "webhooks", about: "verifies webhooks", imports: contracts },
  {
    room: "evals",
    about: "cases from recorded sessions, their trials, judges and reports",
    imports: [
      ...contracts,
      "context",
      "models/facts",
      "models/recorded",
      "runtime/agent",
      "runtime/api",
      "runtime/lib",
      "runtime/log",
      "runtime/observers",
      "runtime/replay",
      "runtime/tools",
      "runtime/work",
      "stores/memory",
      "stores/transfer",
    ],
  },
  {
    room: "tools/lib",
    about: "what several tools need: pacing, bounds of inputs, searches in bytes, `defineTool`",
    imports: contracts,
  },
  {
    room: "tools/files",
    about: "reading, writing and listing files below a root",
    imports: [...contracts, "tools/lib"],
  },
  { room: "tools/search", about: "`search_files`", imports: [...contracts, "tools/files", "tools/lib"] },
  {
    room: "tools/sandbox",
    about: "the sandbox of commands: what they see, share and reach",
    imports: [...contracts, "tools/files", "tools/web"],
  },
  {
    room: "tools/shell",
    about: "commands, processes in the background",
    imports: [...contracts, "tools/files", "tools/lib", "tools/sandbox"],
  },
  { room: "tools/web", about: "`fetch_url`, and which addresses it may reach", imports: contracts },
  { room: "tools/outputs", about: "reading and searching outputs that were cut", imports: [...contracts, "tools/lib"] },
  {
    room: "tools/sources",
    about: "AGENTS.md and skills, as sources of context",
    imports: [...contracts, "tools/files", "tools/lib"],
  },
  {
    room: "tools",
    about: "the entry point, and the tools of one file",
    imports: [
      ...contracts,
      ...["tools/files", "tools/lib", "tools/sandbox", "tools/search", "tools/shell", "tools/sources", "tools/web"],
    ],
  },
  {
    room: "tools/mcp/login",
    about: "logins to MCP servers: how they are stored, refreshed, and shared by processes",
    imports: contracts,
  },
  {
    room: "tools/mcp",
    about: "tools of MCP servers, as a plugin",
    imports: [...contracts, "tools/mcp/login", "tools/sandbox"],
  },
  {
    room: "tools/a2a",
    about: "a remote agent that speaks A2A, as a tool: its tasks are followed as those of MCP servers are",
    imports: [...contracts, "tools/mcp"],
  },
];

/**
 * Programs on top of the package: they use public entry points only, as anybody's could, and the rooms that they name. The inspector
 * and the view run in a browser: of the package they have types, and the modules that are named here.
 */
const programs = [
  {
    room: "view",
    about:
      "the fold of a session's stream, the answers to a question, and numbers as text: what every front end shows; runs in Node and in the browser",
    uses: ["stream", "`freeze` and `call-key` of `core/data`"],
    isPage: true,
  },
  {
    room: "cli",
    about:
      "the command line; `screen` and `conversation` render the terminal, `permissions` decides what runs without a question",
    uses: ["tools", "view"],
  },
  {
    room: "protocols",
    about: "OpenTelemetry, and the protocols of clients: the AI SDK's chat, AG-UI, ACP, MCP, A2A",
    uses: ["stream", "view"],
  },
  {
    room: "inspector",
    about: "the page of `pawl ui`, built by scripts/inspector.mjs",
    uses: ["eight files of `core/data`", "the server's client", "stream", "view"],
    isPage: true,
  },
  {
    room: "server",
    about: "sessions over HTTP, and a client of its streams",
    uses: ["protocols", "platform", "ports", "stream", "stream/tail", "view"],
  },
  { room: "restate", about: "Restate as the dispatcher of sessions", uses: ["ports"] },
];

module.exports = { rooms, programs, contracts };
