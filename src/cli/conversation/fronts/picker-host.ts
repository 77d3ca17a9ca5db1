/**
 * The list on the live screen from which the person chooses.
 */
import type { Key } from "../../screen/keys.js";
import { type Choice, createPicker, type Picker, pressPicker } from "../../screen/picker.js";

export type PickerHost = {
  /** Null if no list is open. */
  readonly current: () => Picker | null;
  /** Opens a list. @returns the id of the choice; null if the person closes the list */
  readonly choose: (title: string, choices: readonly Choice[]) => Promise<string | null>;
  /** Handles a key for the list. @returns whether a list is open */
  readonly press: (key: Key) => boolean;
};

export function createPickerHost(refresh: () => void): PickerHost {
  let openList: { readonly picker: Picker; readonly settle: (id: string | null) => void } | null = null;
  return {
    current: () => openList?.picker ?? null,
    choose: (title, choices) =>
      new Promise((settle) => {
        openList = { picker: createPicker(title, choices), settle };
        refresh();
      }),
    press(key) {
      if (openList === null) return false;
      const { picker, settle } = openList;
      const result = pressPicker(picker, key);
      openList = result.type === "open" ? { picker: result.picker, settle } : null;
      if (result.type !== "open") settle(result.type === "chosen" ? result.id : null);
      return true;
    },
  };
}
