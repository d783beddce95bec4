/** `2026-01-20 17:00`, in local time; text that is not a time is returned unchanged. */
export function localTime(time: string | number): string {
  const ms = typeof time === 'number' ? time : Date.parse(time)
  if (Number.isNaN(ms)) return String(time)
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000
  return new Date(ms - offsetMs).toISOString().slice(0, 16).replace('T', ' ')
}
