/**
 * Types that the declarations of an entry point name and that no entry point exports, each with the reason
 * (docs/decisions/0091-what-is-exported-is-what-somebody-must-name.md). `npm run api` asks about every other one.
 *
 * A name that ends in `_2` is that of a second type of this name, as the reports write it.
 */
const reasons = [
  {
    why: "A piece that is put together with others to make an exported type. The reference tells its members with that type.",
    names: [
      "AnswersAndData",
      "FinishedChild",
      "ParentCall",
      "AnswersAndData_2",
      "Body",
      "ByRule",
      "CallIdentity",
      "HookFunction",
      "CommonOptions",
      "CompactedEvent",
      "Contributions",
      "LocalOptions",
      "OfFamily",
      "OneSessionOptions",
      "SessionLook",
      "Sized",
      "Definition",
      "Ended",
      "FailedAttemptOf",
      "HandleOptions",
      "PathOptions",
      "PoolConnection",
      "Nothing",
      "CallFields",
      "TraceIdentity",
      "UrlConnection",
      "ResultBase",
      "SessionState",
      "SignalWait",
      "SourceReference",
      "ToolCallEvent",
      "Typed",
      "TypesOf",
      "WithOutput",
      "WorkingSession",
      "Written",
    ],
  },
  {
    why: "The type for any kind of model. The export of the same name is this one for the models that the package takes.",
    names: ["AgentOptions_2", "Agent_2", "EngineAgent_2", "EngineOptions_2", "Engine_2", "PluginContext_2", "Plugin_2"],
  },
  {
    why: "A short name for what a program writes or has as it is: a function, a literal, a list of messages, a store.",
    names: [
      "AbortMethod",
      "CompactMethod",
      "DefineToolFor",
      "HandoffMessages",
      "JsonLimits",
      "JsonObject",
      "LogStore",
      "MakeId",
      "MayReach",
      "PlainStopCondition",
      "Repaired",
      "RequestIdentity",
      "SendSignal",
      "ShellInput",
      "StopFunction",
      "Synchronous",
      "statuses",
    ],
  },
  {
    why: "A member of what the core gives: of its records, state and results. Whoever reads it has it from there, and nobody makes one.",
    names: [
      "AnswerAttempt",
      "CacheRecord",
      "CallPauses",
      "CallRecords",
      "CallSteps",
      "ChildReport",
      "HookChoices",
      "CompactionRange",
      "CompactionRequest",
      "CutOff",
      "FailedAttempt",
      "FailedTry",
      "Failures",
      "HolderDefaults",
      "JsonResult",
      "LastCall",
      "LastMessage",
      "LastSent",
      "ListedMessage",
      "QueuedRun",
      "Repair",
      "ReservedMessage",
      "RunPrompt",
      "ShownResults",
      "SourceChange",
      "SourcesInForce",
    ],
  },
  {
    why: "What the crash kit makes the message of a failure from.",
    names: ["Fact", "Invariant"],
  },
];

/**
 * What has to be asked about the types that are named and not exported.
 * @param forgotten by entry point, the names that its declarations use and that it does not export
 * @param exported the names that some entry point exports
 */
export function questionsAboutTypes(forgotten, exported) {
  const explained = new Set(reasons.flatMap(({ names }) => names));
  const used = new Set([...forgotten.values()].flatMap((names) => [...names]));
  return [
    ...[...forgotten].flatMap(([entry, names]) =>
      [...names]
        .filter((name) => !exported.has(name) && !explained.has(name))
        .map(
          (name) =>
            `${entry} names the type ${name}, which no entry point exports. If somebody must name it, export it; if not, say why in scripts/api-unexported.mjs.`,
        ),
    ),
    ...[...explained]
      .filter((name) => !used.has(name) || exported.has(name))
      .map((name) => `${name} is listed in scripts/api-unexported.mjs, and need not be. Remove it from the list.`),
  ];
}
