/** The executable of Node 24: this one if it is 24 or later. Null on systems other than Linux on x64. */
export function node24(): string | null;
/** The executable of this major version of Node. Null if it would have to be installed on a system other than Linux on x64. */
export function nodeOf(major: number): string | null;
