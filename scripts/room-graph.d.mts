/** For each room, the rooms that it imports. */
export type Arrows = ReadonlyMap<string, readonly string[]>;

export function roomOf(file: string): string;
export function cyclesIn(arrows: Arrows): readonly string[];
export function forbiddenIn(arrows: Arrows): readonly string[];
export function unusedIn(arrows: Arrows): readonly string[];
export function reduced(arrows: Arrows): Arrows;
export function layersOf(arrows: Arrows): ReadonlyMap<string, number>;
