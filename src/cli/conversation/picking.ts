/**
 * The list on the live screen from which a person chooses.
 */
import type { Key } from "../screen/keys.js";
import { type Choice, createPicker, type Picker, pressPicker } from "../screen/picker.js";

export type Picking = {
  /** Null if no list is open. */
  readonly present: () => Picker | null;
  /** Opens a list. @returns the id of the choice; null if the person leaves the list */
  readonly choose: (title: string, choices: readonly Choice[]) => Promise<string | null>;
  /** A key for the list. @returns whether there is one */
  readonly press: (key: Key) => boolean;
};

export function createPicking(refresh: () => void): Picking {
  let open: { readonly picker: Picker; readonly settle: (id: string | null) => void } | null = null;
  return {
    present: () => open?.picker ?? null,
    choose: (title, choices) =>
      new Promise((settle) => {
        open = { picker: createPicker(title, choices), settle };
        refresh();
      }),
    press(key) {
      if (open === null) return false;
      const { picker, settle } = open;
      const picked = pressPicker(picker, key);
      open = picked.type === "open" ? { picker: picked.picker, settle } : null;
      if (picked.type !== "open") settle(picked.type === "chosen" ? picked.id : null);
      return true;
    },
  };
}
