/**
 * Checks the grammar of a view's changes.
 */
import { expect } from "vitest";
import type { ViewChange } from "../../src/view/view-change.js";

/** The text of each part, by its name. Steps, parts and questions open and close in turn. */
export function collectPartTexts(changes: readonly ViewChange[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  const open = new Set<string>();
  const questions = new Set<string>();
  let runId = "";
  let openSteps = 0;
  for (const change of changes) {
    expect(Object.isFrozen(change)).toBe(true);
    switch (change.type) {
      case "run_started":
        runId = change.by.runId;
        break;
      case "step_started":
        openSteps += 1;
        expect(openSteps).toBe(1);
        runId = change.runId;
        break;
      case "step_ended":
        openSteps -= 1;
        expect(openSteps).toBe(0);
        expect(open.size).toBe(0);
        break;
      case "part_started": {
        const part = `${runId}/${change.part}`;
        expect(texts.has(part), part).toBe(false);
        expect(openSteps).toBe(1);
        texts.set(part, "");
        open.add(part);
        break;
      }
      case "part_grew": {
        const part = `${runId}/${change.part}`;
        expect(open.has(part), part).toBe(true);
        texts.set(part, `${texts.get(part)}${change.text}`);
        break;
      }
      case "part_ended":
        expect(open.delete(`${runId}/${change.part}`)).toBe(true);
        break;
      case "question_opened":
        questions.add(`${change.question.callKey}/${change.question.questionId}`);
        break;
      case "question_closed":
        if (change.by === null) expect(questions.has(`${change.callKey}/${change.questionId}`)).toBe(true);
        questions.delete(`${change.callKey}/${change.questionId}`);
        break;
      case "run_ended":
        // A queued run that was aborted ends while another run is in progress.
        if (change.by.runId !== runId) break;
        expect(openSteps).toBe(0);
        expect(questions.size).toBe(0);
        break;
      default:
        break;
    }
  }
  return texts;
}
