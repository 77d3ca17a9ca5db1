/**
 * The statements of notices. `append` writes the notices of a commit. `s` is the quoted schema.
 */
export function noticeStatements(s: string) {
  const columns = `number::float8 AS number, endpoint, id, session, at, due_at AS "dueAt", tries, body, body_sum::float8 AS "bodySum"`;
  return {
    /** Returns no row if nothing was written. */
    addDestination: `INSERT INTO ${s}.endpoints AS e (id, body, body_sum) VALUES ($1::text, $2::text, $3::bigint)
      ON CONFLICT (id) DO UPDATE SET body = excluded.body, body_sum = excluded.body_sum WHERE $4::boolean
      RETURNING e.xmax = 0 AS "isNew"`,
    dropDestination: `WITH gone AS (DELETE FROM ${s}.notices WHERE endpoint = $1::text)
      DELETE FROM ${s}.endpoints WHERE id = $1 RETURNING 1`,
    destinations: `SELECT id, body, body_sum::float8 AS "bodySum" FROM ${s}.endpoints ORDER BY id`,
    dueNotices: `SELECT ${columns} FROM ${s}.notices WHERE endpoint = $1::text AND due_at <= $2::float8
      ORDER BY due_at, number LIMIT $3::bigint`,
    dueNoticesForEach: `SELECT ${columns} FROM unnest($1::text[]) AS w(wanted) CROSS JOIN LATERAL (SELECT * FROM ${s}.notices
        WHERE endpoint = w.wanted AND due_at <= $2::float8 ORDER BY due_at, number LIMIT $3::bigint) n
      ORDER BY n.endpoint, n.due_at, n.number`,
    noticeList: `SELECT ${columns} FROM ${s}.notices WHERE (NOT $1::boolean OR due_at IS NULL) AND number > $2::bigint
      ORDER BY number LIMIT $3::bigint`,
    replaceNotice: `UPDATE ${s}.notices SET due_at = $4::float8, tries = $5::int, body = $6::text, body_sum = $7::bigint
      WHERE number = $1::bigint AND due_at IS NOT DISTINCT FROM $2::float8 AND tries = $3::int RETURNING 1`,
    dropNotice: `DELETE FROM ${s}.notices WHERE number = $1::bigint RETURNING 1`,
    dropOldNotices: `WITH gone AS (DELETE FROM ${s}.notices WHERE number IN (SELECT number FROM ${s}.notices
        WHERE at < $1::float8 AND (due_at IS NULL
          OR (due_at < $1 AND endpoint NOT IN (SELECT jsonb_array_elements_text($2::text::jsonb)))) ORDER BY number LIMIT 1000) RETURNING 1)
      SELECT count(*)::float8 AS count FROM gone`,
  } as const;
}
