/**
 * Composes the messages of a conversation: the text, attached data, and the files and resources that the text mentions.
 *
 * 1. Messages are sent in the order in which the person typed them: while a message waits for its resources, later messages wait too.
 * 2. If a resource cannot be read, nothing is sent. Data that was attached to the message is then attached to the next one.
 */
import type { UserPart } from "../../index.js";
import { type ComposeOptions, composeMessage } from "../agent/attachments.js";
import { findResourceMentions, type MentionedResources, readMentionedResources } from "../agent/server-resources.js";
import type { StartedServers } from "../mcp/start-servers.js";
import type { Activity } from "./view/fold.js";

type MessageComposer = {
  /** Adds data to the next message. */
  readonly join: (part: UserPart) => void;
  /** @param named the text whose mentions are attached. @param send receives the message, synchronously if it mentions no resource */
  readonly compose: (text: string, named: string, send: (input: readonly UserPart[]) => void) => void;
  /** Whether a message waits for its resources. */
  readonly isReading: () => boolean;
  /** Stops the message that waits for its resources. @returns whether there was one */
  readonly stop: () => boolean;
};

type MessageComposerDeps = Pick<ComposeOptions, "root" | "mayReach" | "whyRefused"> & {
  readonly servers: Pick<StartedServers, "all">;
  /** Called with the reason why a file was not attached. */
  readonly onProblem: (problem: string) => void;
  /** Called when a message begins to wait for its resources, and with null when it no longer waits. */
  readonly onActivity: (activity: Activity | null) => void;
  readonly fail: (error: unknown) => void;
};

export function createMessageComposer(deps: MessageComposerDeps): MessageComposer {
  const { servers, onProblem, onActivity, fail, ...files } = deps;
  let joined: readonly UserPart[] = [];
  /** Settles when the last waiting message was sent; null if no message waits. */
  let last: Promise<void> | null = null;
  let reading: AbortController | null = null;

  function toInput(text: string, named: string, resources: MentionedResources): readonly UserPart[] {
    const { input, problems } = composeMessage(text, { ...files, before: joined, named, resources });
    joined = [];
    for (const problem of problems) onProblem(problem);
    return input;
  }

  async function readResources(named: string): Promise<MentionedResources> {
    const mentions = findResourceMentions(named, servers);
    const [first] = mentions;
    if (first === undefined) return new Map();
    reading = new AbortController();
    onActivity({ name: `waits for ${first.started.name}`, since: Date.now() });
    try {
      return await readMentionedResources(mentions, reading.signal);
    } finally {
      reading = null;
      onActivity(null);
    }
  }

  return {
    join(part) {
      joined = [...joined, part];
    },
    compose(text, named, send) {
      if (last === null && findResourceMentions(named, servers).length === 0) {
        send(toInput(text, named, new Map()));
        return;
      }
      const previous = last ?? Promise.resolve();
      const sending = previous
        .then(async () => {
          const resources = await readResources(named);
          send(toInput(text, named, resources));
        })
        .catch(fail)
        .finally(() => {
          if (last === sending) last = null;
        });
      last = sending;
    },
    isReading: () => reading !== null,
    stop() {
      reading?.abort(new Error("you have stopped the request"));
      return reading !== null;
    },
  };
}
