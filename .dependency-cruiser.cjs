/** Who may import whom. A layer sees what it stands on and nothing else; there are no cycles. */

/** The modules behind the package's entry points that a program may use. */
const publicEntries = "^src/(index|core/index|stores/sqlite|models/index|tools/index|tools/mcp/index)[.]ts$";

/** `src/<layer>` may import itself, these layers, and packages and built-in modules. */
function layer(name, ...allowed) {
  const paths = [name, ...allowed].map((path) =>
    path.endsWith(".ts") ? `^src/${path.replace(".", "[.]")}$` : `^src/${path}/`,
  );
  return {
    name: `layer-${name}`,
    comment: `src/${name} may import only ${[name, ...allowed].join(", ")}`,
    severity: "error",
    from: { path: `^src/${name}/` },
    to: { path: "^src/", pathNot: paths },
  };
}

/** `src/<layer>` is a program on top of the package: it uses the public entry points, as anybody's could. */
function program(name) {
  return {
    name: `program-${name}`,
    comment: `src/${name} uses public entry points only`,
    severity: "error",
    from: { path: `^src/${name}/` },
    to: { path: "^src/", pathNot: [`^src/${name}/`, publicEntries] },
  };
}

/** Nothing outside `src/<layer>` imports it. */
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
    layer("ports", "core", "errors.ts"),
    layer("context", "core", "ports", "errors.ts"),
    layer("runtime", "core", "ports", "context", "errors.ts"),
    layer("engine", "core", "ports", "context", "runtime", "errors.ts"),
    layer("models", "core", "ports", "errors.ts"),
    layer("tools", "core", "ports", "errors.ts"),
    layer("stores", "core", "ports", "errors.ts"),
    layer("restate", "core", "ports", "runtime/perform", "errors.ts"),
    program("cli"),
    program("server"),
    program("protocols"),
    top("cli"),
    top("server"),
    top("testing"),
    {
      name: "only-own-dependencies",
      comment: "what a user's install does not bring cannot be imported; optional peers can",
      severity: "error",
      from: { path: "^src/" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["npm-peer", "npm-optional"],
      },
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
