/**
 * Redraws at an interval while work is in progress. At rest there is no timer.
 */

import type { ViewState } from "../view/view.js";
import { spinnerMs } from "./status-line.js";

export function createTicker(draw: () => void): { readonly run: (isOn: boolean) => void } {
  let timer: NodeJS.Timeout | null = null;
  return {
    run(isOn) {
      if (isOn) timer ??= setInterval(draw, spinnerMs);
      else if (timer !== null) {
        clearInterval(timer);
        timer = null;
      }
    },
  };
}

export function isBusy({ runId, isWaiting, activity }: ViewState): boolean {
  return (runId !== null && !isWaiting) || activity !== null;
}
