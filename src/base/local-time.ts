/** `2026-01-20 17:00`, in local time, with seconds if wanted; text that is not a time is returned unchanged. */
export function localTime(time: string | number, hasSeconds = false): string {
  const ms = typeof time === 'number' ? time : Date.parse(time)
  if (Number.isNaN(ms)) return String(time)
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000
  const iso = new Date(ms - offsetMs).toISOString()
  return iso.slice(0, hasSeconds ? 19 : 16).replace('T', ' ')
}
