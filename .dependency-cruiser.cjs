/** Who may import whom. A room sees what it stands on and nothing else; there are no cycles. The rooms are in scripts/rooms.cjs. */

const { rooms, programs } = require("./scripts/rooms.cjs");

/** The modules of the package's entry points that a program may use, `isObject`, `getErrorMessage`, the key of a call, the alarm, `untilAborted`, and the ignore rules, which trust in a folder needs. */
const publicEntries =
  "^src/(index|inspect|store|core/index|core/data/(call-key|error-message|is-object)|platform/(alarm|until-aborted)|stores/sqlite/index|stores/postgres/index|models/index|evals/index|webhooks/index|notices/index|tools/index|tools/files/ignore-rules|tools/mcp/index|tools/a2a/index|protocols/acp/index|protocols/mcp-server/index|server/index|server/client/index)[.]ts$";

/** A room may import itself, the rooms that scripts/rooms.cjs names for it, and packages and built-in modules. */
function roomRule({ room, imports }) {
  const below = rooms.map((other) => other.room).filter((other) => other.startsWith(`${room}/`));
  const paths = [room, ...imports].map((path) =>
    path.endsWith(".ts") ? `^src/${path.replace(".", "[.]")}$` : `^src/${path}/[^/]+$`,
  );
  return {
    name: `room-${room.replaceAll("/", "-")}`,
    comment: `src/${room} may import only ${imports.join(", ") || "itself"}: see scripts/rooms.cjs`,
    severity: "error",
    from: { path: `^src/${room}/`, pathNot: below.map((other) => `^src/${other}/`) },
    to: { path: "^src/", pathNot: paths },
  };
}

/** `src/<room>` is a program on top of the package: it uses the public entry points, as anybody's could. */
function program(name, uses = []) {
  return {
    name: `program-${name}`,
    comment: `src/${name} uses public entry points only, and the rooms that scripts/rooms.cjs names for it`,
    severity: "error",
    from: { path: `^src/${name}/` },
    to: { path: "^src/", pathNot: [...[name, ...uses].map((room) => `^src/${room}/`), publicEntries] },
  };
}

/** The page runs in a browser: what it imports is in its bundle, and no library goes there by an oversight. */
const inspectorIsAClient = {
  name: "inspector-is-a-client",
  comment:
    "src/inspector imports src/server/client, src/stream, src/view, types, and the few functions of the core that are named here",
  severity: "error",
  from: { path: "^src/inspector/" },
  to: {
    path: "^src/",
    pathNot: [
      "^src/inspector/",
      "^src/server/client/index[.]ts$",
      "^src/(stream|view)/",
      "^src/core/data/(cache-break|call-key|error-message|file-edit|hidden-characters|is-object|message|usage)[.]ts$",
    ],
    dependencyTypesNot: ["type-only"],
  },
};

/** The read side runs in Node and in the browser: it needs types, itself, and nothing from outside. */
const readSide = [
  {
    name: "view-is-pure",
    comment: "src/view imports types, src/stream, and freeze and call keys of the core",
    severity: "error",
    from: { path: "^src/view/" },
    to: {
      path: "^src/",
      pathNot: ["^src/(view|stream)/", "^src/core/data/(call-key|freeze)[.]ts$"],
      dependencyTypesNot: ["type-only"],
    },
  },
  {
    name: "read-side-runs-anywhere",
    comment: "src/stream, src/view and src/server/client import no packages and no built-in modules",
    severity: "error",
    from: { path: "^src/(stream|view|server/client)/" },
    to: { pathNot: "^src/" },
  },
];

/** Nothing outside `src/<room>` imports it. */
function top(name) {
  return {
    name: `top-${name}`,
    comment: `nothing imports src/${name}`,
    severity: "error",
    from: { path: "^src/", pathNot: `^src/${name}/` },
    to: { path: `^src/${name}/` },
  };
}

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment: "modules that need each other are one module, or want a third",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "core-is-pure",
      comment: "src/core imports nothing from outside: no packages, no built-in modules, no other layer",
      severity: "error",
      from: { path: "^src/core/" },
      to: { pathNot: "^src/core/" },
    },
    {
      name: "errors-stand-alone",
      comment: "src/errors.ts is the one table of error codes; it imports nothing",
      severity: "error",
      from: { path: "^src/errors[.]ts$" },
      to: {},
    },
    {
      name: "every-file-has-a-room",
      comment: "a file of src stands in a room of scripts/rooms.cjs, or is an entry point at the top",
      severity: "error",
      from: { path: "^src/" },
      to: {
        path: "^src/.*/",
        pathNot: [
          ...[...rooms, ...programs].map(({ room }) => `^src/${room}/`),
          "^src/(core|models)/index[.]ts$",
          "^src/testing/",
        ],
      },
    },
    ...rooms.map(roomRule),
    ...programs.filter(({ isPage }) => isPage !== true).map(({ room, uses }) => program(room, uses)),
    inspectorIsAClient,
    ...readSide,
    top("cli"),
    top("inspector"),
    top("testing"),
    top("restate"),
    {
      name: "only-own-dependencies",
      comment:
        "what a user's install does not bring cannot be imported; optional peers can, and types that are not public",
      severity: "error",
      from: {
        path: "^src/",
        pathNot: [
          "^src/cli/agent/provider-clients[.]ts$",
          "^src/cli/conversation/(lines/((change|markdown)-lines|highlight)|commands/session-page)[.]ts$",
          "^src/cli/permissions/(shell|loose)-line[.]ts$",
          "^src/tools/search/expression-search[.]ts$",
          "^src/cli/server/install-proxies[.]ts$",
          "^src/platform/web/hash[.]ts$",
          "^src/inspector/",
        ],
      },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        // `npm run package` compiles the public types without these packages.
        dependencyTypesNot: ["npm-peer", "npm-optional", "type-only"],
      },
    },
    {
      name: "clients-are-bundled",
      comment:
        "the command line brings these packages: scripts/clients.mjs bundles them, and the library does not use them",
      severity: "error",
      from: { path: "^src/cli/agent/provider-clients[.]ts$" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        pathNot: "node_modules/@ai-sdk/(anthropic|google|openai|openai-compatible)/",
      },
    },
    {
      name: "libraries-are-bundled",
      comment: "Pawl brings these packages: scripts/clients.mjs bundles them",
      severity: "error",
      from: {
        path: "^src/(cli/(conversation/(lines/((change|markdown)-lines|highlight)|commands/session-page)|permissions/(shell|loose)-line|server/install-proxies)|tools/search/expression-search)[.]ts$",
      },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        pathNot: "node_modules/(diff|highlight[.]js|marked|re2js|unbash|undici)/",
      },
    },
    {
      name: "conversation-is-loaded-late",
      comment: "no other command needs the conversation and its libraries: only an import() in its command loads it",
      severity: "error",
      from: { path: "^src/cli/", pathNot: "^src/cli/conversation/" },
      to: { path: "^src/cli/conversation/", dependencyTypesNot: ["type-only", "dynamic-import"] },
    },
    {
      name: "screen-knows-no-sessions",
      comment: "the screen, the draft and the keys know text and terminals only",
      severity: "error",
      from: { path: "^src/cli/screen/" },
      to: { path: "^src/", pathNot: ["^src/cli/screen/", "^src/cli/terminal/text(-style)?[.]ts$"] },
    },
    {
      name: "hashes-are-bundled",
      comment: "what runs with Web APIs only brings this package: scripts/web.mjs bundles it",
      severity: "error",
      from: { path: "^src/platform/web/hash[.]ts$" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        pathNot: "node_modules/@noble/hashes/",
      },
    },
    {
      name: "the-page-is-bundled",
      comment: "the inspector brings these packages: scripts/inspector.mjs bundles them",
      severity: "error",
      from: { path: "^src/inspector/" },
      to: { dependencyTypes: ["npm", "npm-dev", "npm-no-pkg", "npm-unknown"], pathNot: "node_modules/(preact|diff)/" },
    },
    {
      name: "resolvable",
      comment: "every import resolves; node:sqlite does from Node 22 on",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^node:sqlite$" },
    },
    {
      name: "no-way-out",
      comment: "src imports nothing from tests, scripts, examples or a build",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|scripts|examples|bench|dist)/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node", "default"] },
  },
};
