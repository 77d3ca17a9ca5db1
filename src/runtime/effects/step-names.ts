/**
 * The keys of the tool steps of a call: their names, with a count if a name is used again.
 */
import { StepError } from "../tools/step-error.js";
import { isWithinStep } from "./step-nesting.js";

export function createStepNames() {
  const counts = new Map<string, number>();
  const pendingKeys = new Set<string>();
  let isSideBySide = false;
  let hasRepeated = false;

  return {
    /** @param owner identifies the call whose steps are running, to detect nested steps @throws StepError */
    admit(name: string, owner: object): string {
      const times = (counts.get(name) ?? 0) + 1;
      const key = times === 1 ? name : `${name}#${times}`;
      if (isWithinStep(owner)) throw new StepError("step_nested", key, nestedText(key));
      counts.set(name, times);
      if (pendingKeys.size > 0) isSideBySide = true;
      if (times > 1) hasRepeated = true;
      if (isSideBySide && hasRepeated) throw new StepError("step_ambiguous", key, ambiguousText(name));
      return key;
    },
    /** Records that the tool waits for a step, or does other work in parallel. */
    async pending<Result>(key: string, act: () => Promise<Result>): Promise<Result> {
      pendingKeys.add(key);
      try {
        return await act();
      } finally {
        pendingKeys.delete(key);
      }
    },
    /** The steps, questions and waits that the tool has requested and whose results it does not have. */
    listPending: (): readonly string[] => [...pendingKeys],
  };
}

function nestedText(key: string): string {
  return `The tool step "${key}" was started within another step. Start it after that step, or do its work there.`;
}

function ambiguousText(name: string): string {
  return `The name "${name}" of a tool step is used twice in a call that has run two steps in parallel, so it is ambiguous which result belongs to which step. Give each step its own name, such as "${name} 17".`;
}
