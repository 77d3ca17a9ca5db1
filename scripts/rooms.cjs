/**
 * The rooms of `src`: what each is for, and which other rooms it may import. The import rules (.dependency-cruiser.cjs), the table and the
 * picture in docs/architecture.md, and `npm run rooms` all go by this list.
 *
 * The order is the order of reading, from the bottom up. A room imports only rooms above its own line in this list, so there is no cycle.
 */
const core = ["core/data", "core/machine", "core/transcript", "core/view"];
const contracts = [...core, "check-options.ts", "check-tool.ts", "errors.ts", "platform", "ports"];

const rooms = [
  { room: "core/data", about: "messages, JSON, reasons: plain data and what can be done with it", imports: [] },
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
    about: "what the world sees of a session: public events and results",
    imports: ["core/data", "core/machine", "core/transcript"],
  },
  { room: "stream", about: "positions in a session's stream; the same code in Node and in the browser", imports: [] },
  { room: "ports", about: "the contracts: store, model, tool, hook, context, services, clock", imports: core },
  { room: "platform", about: "what runtimes do in different ways, as Node does it", imports: ["ports"] },
  {
    room: "platform/web",
    about: "the same with Web APIs only; a build puts it in the place of `platform`",
    imports: ["platform"],
  },
  {
    room: "context",
    about: "when, where and how a conversation is shortened; tokens; prices; outputs that are cut",
    imports: contracts,
  },
  {
    room: "runtime/lib",
    about: "small helpers that know nothing of agents",
    imports: ["core/data", "platform", "ports"],
  },
  {
    room: "runtime/tools",
    about: "from what a tool declares to what can be validated and stored",
    imports: contracts,
  },
  {
    room: "runtime/log",
    about: "reading what was committed, and checking what a store gives",
    imports: [...contracts, "context", "stream"],
  },
  {
    room: "runtime/model",
    about: "one attempt of a model call, from request to whole message",
    imports: [...contracts, "runtime/lib", "runtime/tools"],
  },
  {
    room: "runtime/observers",
    about: "observers and callbacks, and what they may not see",
    imports: [...contracts, "runtime/lib"],
  },
  {
    room: "runtime/agent",
    about: "an agent's options, checked and compiled once",
    imports: [...contracts, "context", "runtime/lib", "runtime/model", "runtime/observers", "runtime/tools"],
  },
  {
    room: "runtime/trace",
    about: "the trace: a view of the log",
    imports: [...contracts, "runtime/agent", "runtime/lib", "runtime/log", "runtime/observers"],
  },
  {
    room: "runtime/subscribers",
    about: "who hears of a session in this process",
    imports: [...contracts, "runtime/agent", "runtime/log", "runtime/model", "runtime/trace", "stream"],
  },
  {
    room: "runtime/work",
    about: "what an effect has in hand while it runs",
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
    about: "calling hooks, and checking what they return",
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
    about: "a recorded log against present code",
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
    ],
  },
  {
    room: "runtime/api",
    about: "what a user holds: agent, session, client",
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
    ],
  },
  {
    room: "engine",
    about: "plugins, agents by name, and the worker that carries due sessions on",
    imports: [...contracts, "runtime/api", "runtime/lib", "runtime/model", "runtime/tools"],
  },
  { room: "stores/shared", about: "what every store needs: leases, validation, watchers", imports: contracts },
  { room: "stores/memory", about: "the store in memory", imports: [...contracts, "stores/shared"] },
  { room: "stores/sqlite", about: "the store in one SQLite file", imports: [...contracts, "stores/shared"] },
  {
    room: "stores/postgres",
    about: "the store of several machines, in a PostgreSQL database",
    imports: [...contracts, "stores/shared"],
  },
  {
    room: "stores/transfer",
    about: "sessions as lines of text, to move them from one store to another",
    imports: [...contracts, "stores/shared"],
  },
  { room: "models/facts", about: "prices and context windows", imports: ["core/data", "ports"] },
  { room: "models/ai-sdk", about: "language models of the AI SDK as Pawl's", imports: contracts },
  { room: "models/demo", about: "the demo model, which needs no key", imports: [...core, "ports"] },
  {
    room: "models/recorded",
    about: "recording a model's answers, and giving them again",
    imports: [...contracts, "models/ai-sdk"],
  },
  {
    room: "models/registry",
    about: "models by name, and which one there is when none is named",
    imports: [...contracts, "models/ai-sdk", "models/demo", "models/facts"],
  },
  {
    room: "models/registry/web",
    about: "the same with Web APIs only: there are no models by name",
    imports: [...contracts, "models/registry"],
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
    room: "tools/shell",
    about: "commands, processes in the background, the sandbox",
    imports: [...contracts, "tools/files", "tools/lib"],
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
    imports: [...contracts, "tools/files", "tools/lib", "tools/search", "tools/shell", "tools/sources", "tools/web"],
  },
  { room: "tools/mcp", about: "tools of MCP servers, as a plugin", imports: contracts },
];

/**
 * Programs on top of the package: they use public entry points only, as anybody's could, and the rooms that they name. The inspector
 * and the view run in a browser: of the package they have types, and the modules that are named here.
 */
const programs = [
  {
    room: "view",
    about: "the fold of a session's stream: what each item changes for a front; runs in Node and in the browser",
    uses: ["stream", "`freeze` of `core/data`"],
    isPage: true,
  },
  {
    room: "cli",
    about:
      "the command line; `screen` and `conversation` are what it shows on a terminal, `permissions` what runs unasked",
    uses: ["tools"],
  },
  {
    room: "protocols",
    about: "OpenTelemetry; what clients speak: the chat of the AI SDK, AG-UI, ACP, MCP",
    uses: ["stream", "view"],
  },
  {
    room: "inspector",
    about: "the page of `pawl ui`, built by scripts/inspector.mjs",
    uses: ["the server's client", "stream", "view"],
    isPage: true,
  },
  {
    room: "server",
    about: "sessions over HTTP, and a client of its streams",
    uses: ["protocols", "platform", "stream", "view"],
  },
  { room: "restate", about: "Restate as the dispatcher of sessions" },
];

module.exports = { rooms, programs, contracts };
