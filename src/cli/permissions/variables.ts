/**
 * Variables before a command: `FOO=1 npm test`. Many programs read options, settings or names of programs from variables, so
 * only variables with plain values need no word in a rule.
 */

/** Whether a value is unlikely to be an option, a path, or a list of them. */
export function isPlainValue(value: string): boolean {
  return /^(?!-)[\w.,@%+-]*$/.test(value);
}

/** Splits a list of words over several lines. */
const listWords = (words: string): readonly string[] => words.trim().split(/\s+/);

/** Single variables: where programs are found, programs that others start, and files or options that they load. */
const protectedVariables: ReadonlySet<string> = new Set(
  listWords(`
    PATH PATHEXT COMSPEC SYSTEMROOT WINDIR HOME SHELL ENV IFS CDPATH PWD OLDPWD PS4 SHELLOPTS BASHOPTS GLOBIGNORE ZDOTDIR
    EDITOR VISUAL PAGER MANPAGER BROWSER VIEWER TERMINAL OPENER FCEDIT SUDO_ASKPASS CVS_RSH SVN_SSH
    CC CXX CPP CXXCPP FC F77 HOSTCC HOSTCXX CROSS_COMPILE LD AR AS NM RANLIB STRIP OBJCOPY OBJDUMP LINKER LEX YACC M4 AWK SED GREP
    AUTOCONF AUTOMAKE INSTALL TAR TEX MAKE MAKEFLAGS MAKEFILES MFLAGS NVCC SWIFTC TSC
    PYTHON PERL RUBY LUA PHP JAVA RUSTC RUSTDOC RUSTFMT CARGO GIT SSH GPG HG BASH ZSH NPM PNPM YARN BUN DENO PIP UV CMAKE NINJA DOCKER
    LESS LESSOPEN LESSCLOSE LESSKEY LESSKEYIN LESSEDIT PARALLEL PARALLEL_SSH
    NODE NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE ELECTRON_RUN_AS_NODE CLASSPATH VIRTUAL_ENV
    TMPDIR TEMP TMP GCONV_PATH LOCPATH NLSPATH HOSTALIASES CONFIG_SITE POSIXLY_CORRECT TERMINFO TERMCAP INPUTRC EXINIT VIMINIT VIMRUNTIME
    NETRC TAR_OPTIONS GZIP ZIPOPT UNZIP HISTFILE DISPLAY
  `),
);

/** Programs and runtimes whose own variables (`GIT_…`) start other programs, or load code or settings. */
const protectedPrograms = listWords(`
  LD DYLD MALLOC GLIBC XDG DBUS SYSTEMD OPENSSL GTK GDK GIO GST OCL_ICD LC_RPATH
  VK_ICD VK_LAYER VK_DRIVER VK_ADD VK_INSTANCE VK_LOADER
  GIT SSH GPG RSYNC HG P4 BASH ZSH TCL GUILE LESS FZF DIRENV
  NPM PNPM YARN BUN DENO COREPACK NVM FNM VOLTA TS_NODE TSX VITEST JEST BABEL ESLINT
  PYTHON PYTEST PIP PIPX UV POETRY CONDA PYENV PERL PERL5 RUBY RBENV RVM GEM BUNDLE LUA PHP COMPOSER
  JDK JAVA MAVEN MVN GRADLE ANT SBT KOTLIN SCALA SDKMAN CARGO RUST RUSTC RUSTDOC RUSTFMT RUSTUP GO CGO CMAKE NINJA MESON BAZEL
  CCACHE SCCACHE DISTCC PKG DOTNET COREHOST COMPlus MSBUILD ERL ELIXIR MIX R JULIA GHC STACK OCAML NIX GUIX HOMEBREW ASDF MISE
  DOCKER COMPOSE VAGRANT FLASK DJANGO PYSPARK PODMAN BUILDKIT KUBE HELM TF AWS GCLOUD CLOUDSDK AZURE ANSIBLE PG MYSQL SQLITE
`);

/** Runtimes whose variables have no underscore: `PERL5LIB`, `RUBYOPT`, `GOFLAGS`, `PYTHONSTARTUP`, `TEXINPUTS` (but not `TEXT`). */
const protectedPrefixes = listWords("PERL5 RUBY GO PYTHON TEX(?!T) HG P4");

/** Endings that say the same of any program: `RUSTC_WRAPPER`, `JAVACMD`, `CHROME_BIN`, `GNUPGHOME`. */
const protectedEndings = listWords(`
  OPTS OPTIONS FLAGS ARGS COMMAND CMD _BIN _BINARY HOME PATH EXEC RUNNER WRAPPER LOADER PRELOAD PLUGIN PLUGINS CONFIG RC PROXY EDITOR PAGER
  SHELL HOOK HOOKS ASKPASS
`);

const protectedPattern = new RegExp(
  `^(${protectedPrograms.join("|")})_|^_?JAVA_|^(CC|CXX|AR|LD|LINKER)_|^(${protectedPrefixes.join("|")})[A-Z0-9]+$|(${protectedEndings.join("|")})$`,
  "i",
);

/** Whether a variable can change which programs run, or where they read their settings. No rule covers such a variable. */
export function changesPrograms(name: string): boolean {
  return protectedVariables.has(name.toUpperCase()) || protectedPattern.test(name);
}
