/**
 * What a model is told by the loop itself.
 */

/** What the model is told where its own answer was no end. */
export const continuePrompt =
  "Your answer was cut at the output limit. Go on exactly where it stopped, with the space or line break that comes next if there is one; repeat nothing.";
export const doneToolReminder =
  "You have not signalled that the work is done. Go on, or call the tool that signals it if there is nothing left to do.";
export const finalSummaryPrompt =
  "The limit of steps is reached, and no more tools can be used. Sum up what was done, what was found, and what is left to do.";
