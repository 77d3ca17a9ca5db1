/**
 * The variables that SessionStart hooks set, in a process with many sessions.
 */
import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createSessionVariables, type SessionVariables } from "../../../src/cli/hooks/session-variables.js";
import { verifies } from "../../verifies.js";

const load = (variables: SessionVariables, sessionId: string) =>
  variables.load({ sessionId, data: {}, signal: new AbortController().signal });

test("a session keeps its variables while a thousand others start", verifies("CHAT-6#events"), async () => {
  const variables = createSessionVariables();
  const collect = (sessionId: string) =>
    variables.collect(sessionId, async (path) => appendFileSync(path, `export ID=${sessionId}\n`));
  await collect("first");
  for (let count = 0; count < 1_000; count += 1) await collect(`other-${count}`);
  expect(await load(variables, "first")).toEqual({ ID: "first" });
});

test.each([
  ["where programs are found", "PATH PATHEXT COMSPEC JAVA_HOME M2_HOME GNUPGHOME CHROME_BIN VIRTUAL_ENV PYENV_VERSION"],
  ["the program itself", "RUSTC RUSTDOC PYTHON PERL RUBY NODE CC CXX CC_x86_64_linux MAKE AWK LD AR LINKER JAVACMD"],
  ["what a shell reads when it starts", "ENV BASH_ENV ZDOTDIR SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 CONFIG_SHELL"],
  [
    "what a program starts",
    "PAGER MANPAGER EDITOR VISUAL BROWSER GIT_PAGER GIT_SSH_COMMAND RSYNC_CONNECT_PROG HGMERGE P4DIFF RUSTC_WRAPPER CCACHE_PREFIX SUDO_ASKPASS LESSOPEN LESSCLOSE RSYNC_RSH CVS_RSH SVN_SSH FCEDIT WATCH_COMMAND",
  ],
  [
    "code that a runtime loads",
    "LD_PRELOAD DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JAVA_OPTS CLASSPATH GTK_MODULES OPENSSL_ENGINES OPENSSL_CONF GCONV_PATH",
  ],
  [
    "settings that a program reads",
    "npm_config_script_shell YARN_RC_FILENAME MAKEFLAGS MAKEFILES GOFLAGS CARGO_HOME DOCKER_HOST TAR_OPTIONS CONFIG_SITE VIMINIT INPUTRC WGETRC RIPGREP_CONFIG_PATH XDG_CONFIG_HOME HTTPS_PROXY HOME TMPDIR",
  ],
])("a hook cannot set %s", verifies("CHAT-6#events"), async (_what, list) => {
  const variables = createSessionVariables();
  for (const name of list.split(" ")) {
    const collect = variables.collect("s", async (path) => appendFileSync(path, `export ${name}=x\n`));
    await expect(collect, name).rejects.toThrow(`${name} is reserved`);
  }
  expect(await load(variables, "s")).toBe(undefined);
});

test("a hook can set other variables", verifies("CHAT-6#events"), async () => {
  const names =
    "NODE_ENV STAGE CI DEBUG FORCE_COLOR DATABASE_URL API_KEY PORT HOST LOG_LEVEL PROJECT_ROOT RAILS_ENV PGHOST IS_OPEN".split(
      " ",
    );
  const variables = createSessionVariables();
  await variables.collect("s", async (path) =>
    appendFileSync(path, names.map((name) => `export ${name}=x\n`).join("")),
  );
  expect(Object.keys((await load(variables, "s")) ?? {})).toEqual(names);
});
