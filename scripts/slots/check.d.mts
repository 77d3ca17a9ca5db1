export function checkSlots(
  rows: readonly {
    readonly slot: number;
    readonly outcome: string;
    readonly at: number;
    readonly count?: number;
    readonly isMinimum?: true;
  }[],
  given: {
    readonly id: "steady" | "edited" | "removed";
    readonly from: number;
    readonly to: number;
    readonly gaps: readonly { readonly since: number; readonly until: number }[];
    readonly fail: (what: string) => void;
  },
): void;
