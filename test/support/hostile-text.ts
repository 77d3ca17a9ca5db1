/**
 * A text that attacks a page that shows it.
 */

/** What would run, load or break out, if any of it became markup, a link, a style or a script. */
export const hostileText = [
  "<script>pwned = 1</script>",
  '<img src="https://evil.example/x.png" onerror="pwned = 1">',
  "<svg onload=pwned=1><a xlink:href=javascript:pwned=1>x</a></svg>",
  "</textarea></pre></details><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
  "[click](javascript:pwned=1) ![x](https://evil.example/y.png)",
  '"><style>@import "https://evil.example/z.css";</style>',
  "{{constructor.constructor('pwned=1')()}} #{pwned=1}",
  "<math><mtext></form><form><mglyph><style></math><img src onerror=pwned=1>",
  "\u202e<b>pwned</b>\u2066",
].join("\n");
