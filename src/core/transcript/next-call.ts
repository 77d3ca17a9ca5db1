/**
 * The messages that the next model call would see, before its `prepared` entry is written.
 *
 * 1. They follow from the transcript and the preparing state. Folding the entry shows the same messages, in this order: the conversation, a
 *    prompt to continue, input that arrived meanwhile, and additions.
 * 2. A provider that paused has not finished its turn, so nothing may come between its messages.
 */
import type { Message, UserMessage } from "../data/message.js";
import type { Preparing } from "../machine/state.js";
import { createUserMessage } from "./compaction.js";
import { continuePrompt, doneToolReminder } from "./loop-prompts.js";
import type { ShownMessages } from "./message-references.js";
import type { RunRecord } from "./run-record.js";
import type { Transcript } from "./transcript-record.js";

/** The model call that is being prepared. It sees the log up to `seq`, the last entry before its own. */
export type NextCall = Pick<Extract<Preparing, { for: "step" }>, "modelCallIndex" | "purpose" | "seq">;

/** The prompt that the entry adds. Null if there is none, or if a restart prepares the step again and the prompt is already shown. */
export function nextPrompt({ run }: Pick<Transcript, "run">, call: NextCall): UserMessage | null {
  const text = promptForPurpose(call);
  return text === null || isPromptShown(run, call) ? null : createUserMessage(text);
}

/** The loop's own prompt for this purpose; null if there is none. */
export function promptForPurpose({ purpose }: Pick<NextCall, "purpose">): string | null {
  if (purpose === "continue") return continuePrompt;
  return purpose === "remind" ? doneToolReminder : null;
}

export function isPromptShown(run: RunRecord | null, { modelCallIndex }: Pick<NextCall, "modelCallIndex">): boolean {
  return run?.lastPrompt?.modelCallIndex === modelCallIndex;
}

/** Input that arrived during the last model call and is now shown for the first time. */
export function nextInput({ later }: Pick<Transcript, "later">, call: NextCall): readonly UserMessage[] {
  if (later.length === 0 || call.purpose === "unpause") return none;
  return later.flatMap(({ seq, message }) => (seq <= call.seq ? [message] : []));
}

const none: readonly UserMessage[] = Object.freeze([]);

/** All messages, and the entry that shows each; 0 for messages that are shown by the entry of this call. */
export function nextMessages(
  transcript: Pick<Transcript, "messages" | "seqs" | "later" | "run">,
  call: NextCall,
  { input, append }: { readonly input?: readonly UserMessage[] | undefined; readonly append: readonly UserMessage[] },
): ShownMessages {
  const messages: Message[] = transcript.messages.slice();
  const seqs = transcript.seqs.slice();
  const { run } = transcript;
  const from = input === undefined || run === null ? -1 : seqs.indexOf(run.startSeq);
  if (from !== -1 && input !== undefined && run !== null) {
    const count = seqs.lastIndexOf(run.startSeq) - from + 1;
    messages.splice(from, count, ...input);
    seqs.splice(from, count, ...input.map(() => run.startSeq));
  }
  const prompt = nextPrompt(transcript, call);
  const added = [...(prompt === null ? [] : [prompt]), ...nextInput(transcript, call), ...append];
  for (const message of added) {
    messages.push(message);
    seqs.push(0);
  }
  return { messages, seqs };
}
