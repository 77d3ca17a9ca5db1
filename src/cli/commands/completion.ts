/**
 * `pawl completion`: completion scripts for shells, generated from the program's commands and options. A script does not start
 * a process to complete a word.
 */
import type { Command, Option } from "commander";
import { exitCodes } from "../exit.js";
import type { Terminal } from "../terminal/terminal.js";

export type Shell = "bash" | "zsh" | "fish";

/** @param program the program that has all commands */
export function completion(shell: Shell, program: Command, terminal: Terminal): number {
  terminal.out(scriptWriters[shell](listContexts(program, "pawl")));
  return exitCodes.done;
}

type CompletionWord = { readonly word: string; readonly about: string };

/** The words that can follow a command. */
type CompletionContext = {
  /** The words so far: `pawl sessions show`. */
  readonly path: string;
  readonly commands: readonly CompletionWord[];
  readonly options: readonly CompletionWord[];
  /** The choices for the command's arguments. */
  readonly choices: readonly string[];
  /** Options whose value is a file or folder. */
  readonly takesPath: readonly string[];
  /** Options with any other value. */
  readonly takesValue: readonly string[];
};

function listContexts(command: Command, path: string): readonly CompletionContext[] {
  const isShown = (option: Option) => !option.hidden;
  const options = [...command.createHelp().visibleOptions(command)].filter(isShown);
  const withValue = options.filter(({ required, optional }) => required || optional);
  const isPath = ({ flags }: Option) => /<(folder|path|file)>/.test(flags);
  const names = (all: readonly Option[]) => all.flatMap(({ short, long }) => [short, long].filter(isName));
  const inner = command.createHelp().visibleCommands(command);
  const context: CompletionContext = {
    path,
    commands: inner.map((one) => ({ word: one.name(), about: takeFirstLine(one.description()) })),
    options: options.flatMap((option) =>
      names([option]).map((word) => ({ word, about: takeFirstLine(option.description) })),
    ),
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    takesPath: names(withValue.filter(isPath)),
    takesValue: names(withValue.filter((option) => !isPath(option))),
  };
  return [context, ...inner.flatMap((one) => listContexts(one, `${path} ${one.name()}`))];
}

function isName(name: string | undefined): name is string {
  return name !== undefined;
}

function takeFirstLine(text: string): string {
  return text.split("\n")[0] ?? "";
}

const scriptWriters: { readonly [Name in Shell]: (contexts: readonly CompletionContext[]) => string } = {
  bash,
  zsh,
  fish,
};

const formatHeader = (shell: Shell) => `# Completion of pawl for ${shell}. Written by: pawl completion ${shell}\n`;

/** The `case` that follows the words of the line to the command, for bash and zsh. */
function formatWordLoop(contexts: readonly CompletionContext[]): string {
  const inner = contexts.filter(({ path }) => path.includes(" ")).map(({ path }) => quoteWord(path));
  return `    case "$at $word" in\n      ${inner.join("|")}) at="$at $word" ;;\n    esac`;
}

/** Completes the value of an option, for bash and zsh: files, or nothing. */
function formatValueCases({ takesPath, takesValue }: CompletionContext, completeFiles: string): readonly string[] {
  const formatCase = (options: readonly string[], act: string) =>
    options.length === 0 ? [] : [`      case "$before" in ${options.join("|")}) ${act} ;; esac`];
  return [...formatCase(takesPath, completeFiles), ...formatCase(takesValue, "return")];
}

function bash(contexts: readonly CompletionContext[]): string {
  const cases = contexts.map((context) => {
    const { path, commands, options, choices } = context;
    const words = [...commands.map(({ word }) => word), ...choices, ...options.map(({ word }) => word)].join(" ");
    return [
      `    ${quoteWord(path)})`,
      ...formatValueCases(context, "compopt -o default; return"),
      `      words=${quoteWord(words)} ;;`,
    ].join("\n");
  });
  return `${formatHeader("bash")}_pawl() {
  local at=pawl word words= before="\${COMP_WORDS[COMP_CWORD-1]}" now="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${formatWordLoop(contexts)}
  done
  case "$at" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}
complete -F _pawl pawl
`;
}

function zsh(contexts: readonly CompletionContext[]): string {
  const formatDescribed = ({ word, about }: CompletionWord) =>
    quoteWord(`${word.replaceAll(":", "\\:")}:${about.replaceAll(":", "\\:")}`);
  const cases = contexts.map((context) => {
    const { path, commands, options, choices } = context;
    return [
      `    ${quoteWord(path)})`,
      ...formatValueCases(context, "_files; return"),
      `      commands=(${[...commands.map(formatDescribed), ...choices.map(quoteWord)].join(" ")})`,
      `      options=(${options.map(formatDescribed).join(" ")}) ;;`,
    ].join("\n");
  });
  return `#compdef pawl
${formatHeader("zsh")}_pawl() {
  local at=pawl word before="\${words[CURRENT-1]}"
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
${formatWordLoop(contexts)}
  done
  case "$at" in
${cases.join("\n")}
  esac
  local status_of=1
  (( \${#commands} )) && _describe -t commands command commands && status_of=0
  (( \${#options} )) && _describe -o -t options option options && status_of=0
  return status_of
}
if [ "\${funcstack[1]}" = _pawl ]; then _pawl "$@"; else compdef _pawl pawl; fi
`;
}

function fish(contexts: readonly CompletionContext[]): string {
  const inner = contexts.filter(({ path }) => path.includes(" ")).map(({ path }) => quoteWord(path));
  const lines = contexts.flatMap(({ path, commands, options, choices, takesPath, takesValue }) => {
    const here = `complete -c pawl -n "__pawl_at '${path}'"`;
    const flag = (word: string) => (word.startsWith("--") ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`);
    const value = (word: string) => (takesPath.includes(word) ? " -r -F" : takesValue.includes(word) ? " -x" : "");
    return [
      ...commands.map(({ word, about }) => `${here} -f -a ${word} -d ${quoteWord(about)}`),
      ...choices.map((word) => `${here} -f -a ${word}`),
      ...options.map(({ word, about }) => `${here} ${flag(word)}${value(word)} -d ${quoteWord(about)}`),
    ];
  });
  return `${formatHeader("fish")}function __pawl_at
    set -l at pawl
    for word in (commandline -opc)[2..]
        switch "$at $word"
            case ${inner.join(" ")}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c pawl -f
${lines.join("\n")}
`;
}

/** Puts a string in single quotes, which sh, zsh and fish read alike. An apostrophe in it becomes a typographic one. */
function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
