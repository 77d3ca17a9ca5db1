/** What the environment variables, files and exit codes are for. `tables.mjs` compares their names with the code. */

/** The variables of providers are in the table of providers. */
export const variableTexts = {
  PAWL_HOME: "The folder with the sessions. Unless set: `$XDG_DATA_HOME/pawl`, else `~/.local/share/pawl`.",
  HOME: "the home folder, where Git's own configuration names a file of patterns to ignore",
  PAWL_STORE:
    "The address of a PostgreSQL database that has the sessions instead: `postgres://user@host/database`. `--store` goes before it.",
  PAWL_MODEL: "The model, as `provider/model`, or `demo`. `--model` goes before it. `chooseModel()` reads it, too.",
  PAWL_TOKEN: "The token of `pawl serve`. `--token-file` goes before it. Unless set, a new one is made.",
  PAWL_KILL_AT: "When `pawl/testing/kill-at-commit` kills the program: `before N`, `after N`, `full N` or `count`.",
  PAWL_COMMAND: "Pawl sets it for the commands of the shell tool, so that what they leave behind is found.",
  PATH: "Where the programs of the shell tool are found.",
  XDG_DATA_HOME: "The folder of programs' data, if `PAWL_HOME` is not set.",
  XDG_CONFIG_HOME: "The folder of programs' configuration. Unless set: `~/.config`.",
  XDG_CACHE_HOME: "The folder of programs' caches, with the homes of sandboxed commands. Unless set: `~/.cache`.",
  VISUAL: "The editor for inputs and drafts, such as `code --wait`.",
  EDITOR: "The same, if `VISUAL` is not set.",
  PAGER: "The program that shows long texts. Unless set: `less`.",
  NO_COLOR: "If set, nothing is colored.",
  FORCE_COLOR: "Stronger than `NO_COLOR` and `ui.theme`: `0` takes the colors away, `1`, `2` and `3` give them.",
  NO_PROXY:
    "What is reached directly although `HTTPS_PROXY` or `HTTP_PROXY` names a proxy. Each of the three may be written in lower case.",
  TERM: "If it is `dumb`, there are no colors and no live screen. Also names the terminals that show notifications on the desktop.",
  TERM_PROGRAM: "The name of the terminal, for notifications on the desktop.",
  TMUX: "If it is set, there are no notifications on the desktop.",
  WAYLAND_DISPLAY: "If set, texts are copied with `wl-copy`.",
  DISPLAY: "If set, texts are copied with `xclip`.",
};

/** Names that look like variables: codes of warnings, the name by which a password is redacted, and a variable of an example. */
export const notVariables = [
  "NOTICES_SECRET",
  "PAWL_CLOCK",
  "PAWL_LOG",
  "PAWL_MCP",
  "PAWL_STORE_PASSWORD",
  "PAWL_OBSERVER",
  "PAWL_SOURCES",
  "PAWL_TOOL_OPTION",
];

/** By the name that stands in the code. */
export const fileTexts = {
  "sessions.db": {
    file: "sessions.db",
    where: "home",
    text: "The sessions of the command line: a SQLite file. Its write-ahead log lies beside it.",
  },
  "server.json": {
    file: "server.json",
    where: "home",
    text: "The address and token of a running `pawl serve`, for `pawl ui`. One for each store.",
  },
  "server-secret": { file: "server-secret", where: "home", text: "What `pawl serve` signs with. It is made once." },
  "mcp-logins.json": {
    file: "mcp-logins.json",
    where: "home",
    text: "The logins of `pawl mcp login`. Only its owner can read it.",
  },
  "trust.json": {
    file: "projects/HASH/trust.json",
    where: "home",
    text: "Which bytes of a folder's configuration the person trusts.",
  },
  "permissions.json": {
    file: "permissions.json",
    where: "configuration; home, in `projects/HASH`",
    text: "Rules that the person kept: for all folders, and for one.",
  },
  "pawl.config.json": {
    file: "pawl.config.json",
    where: "configuration; folder",
    text: "The [configuration](../guide/configuration.md).",
  },
  "hooks.json": {
    file: "hooks.json",
    where: "configuration; folder, in `.pawl`",
    text: "[Hooks](../guide/command-hooks.md): commands that run at events.",
  },
  ".mcp.json": {
    file: ".mcp.json",
    where: "folder",
    text: "The folder's [MCP servers](../guide/configuration.md#mcp-servers), started once the file is trusted.",
  },
  "mcp.json": {
    file: "mcp.json",
    where: "configuration",
    text: "Your own [MCP servers](../guide/configuration.md#mcp-servers).",
  },
  "AGENTS.md": {
    file: "AGENTS.md",
    where: "folder and above; configuration",
    text: "What the model is told of the folder.",
  },
  "CLAUDE.md": {
    file: "CLAUDE.md",
    where: "folder and above; configuration",
    text: "Read where there is no `AGENTS.md`.",
  },
  "SKILL.md": { file: "SKILL.md", where: "in the folder of a skill", text: "A skill: when to use it, and how." },
  ".pawl/skills": { file: ".pawl/skills/", where: "folder", text: "Skills of the folder." },
  ".agents/skills": {
    file: ".agents/skills/",
    where: "folder",
    text: "Skills of the folder, in the place that other agents read, too.",
  },
};

/** Files of others, and names that files get while they are edited or tested. */
export const notFiles = ["package.json", "bun.lock", "input.json", "call.json", "message.md"];

/** By the names in src/cli/exit.ts. */
export const exitCodeTexts = {
  done: "Done.",
  usage: "The command line is wrong, or asks for what cannot be: an unknown session, a run that has ended.",
  waiting: "The run waits for a person.",
  limit: "A limit was reached, or the answer does not fit its schema. The session can go on.",
  failed: "Failed: the model, the store or the surroundings.",
  interrupted: "Interrupted. `pawl resume` goes on.",
  aborted: "Aborted.",
};
