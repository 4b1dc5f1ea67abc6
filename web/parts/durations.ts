/** A time as `0.4 s`, `12 s`, `3 min 5 s` or `2 h 4 min`. */
export function durationText(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** US dollars with as many digits as say something. */
export function dollarsText(dollars: number): string {
  if (dollars < 0.0001) return "< $0.0001";
  return `$${dollars < 1 ? dollars.toPrecision(2) : dollars.toFixed(2)}`;
}

const hours = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat([], { day: "numeric", month: "short" });

/** A time of day, with the day when it is not today. */
export function timeText(at: number, now = Date.now()): string {
  const time = hours.format(at);
  if (new Date(at).toDateString() === new Date(now).toDateString()) return time;
  return `${days.format(at)}, ${time}`;
}
