/**
 * What could rewrite a screen, hide text, or pass for something else.
 */
export const escapes: readonly string[] = [
  "\x1b[2J\x1b[3J",
  "\x1b]0;title\x07",
  "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
  "\x1b]52;c;cm0gLXJm\x07",
  "\x9b2J\x9d0;t\x9c",
  "\x1bP+q\x1b\\",
  "over\rwritten",
  "\b\b\b\x7f",
  "\u202eright to left\u2066",
  "\u200b\ufeff\u2028",
  "\x00\x0e\x0f\x1b(0",
  "\ud800 half",
];
