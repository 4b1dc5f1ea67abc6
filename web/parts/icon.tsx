const paths = {
  menu: "M4 7h16M4 12h16M4 17h16",
  send: "M5 12l14-7-5 14-3-6z",
  stop: "M7 7h10v10H7z",
  attach: "M8 12l6-6a3 3 0 014 4l-8 8a5 5 0 01-7-7l7-7",
  down: "M6 9l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
  microphone: "M12 4a3 3 0 013 3v5a3 3 0 01-6 0V7a3 3 0 013-3zM6 11v1a6 6 0 0012 0v-1M12 18v3",
  camera: "M4 8h3l2-3h6l2 3h3v11H4zM12 10a3 3 0 110 6 3 3 0 010-6",
  plus: "M12 5v14M5 12h14",
  chat: "M5 5h14a2 2 0 012 2v8a2 2 0 01-2 2h-7l-5 4v-4H5a2 2 0 01-2-2V7a2 2 0 012-2z",
  inbox: "M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5",
  memory: "M6 4h11a1 1 0 011 1v15l-6.5-4L5 20V5a1 1 0 011-1z",
  cost: "M5 20v-6M10 20V9M15 20v-8M20 20V5",
  devices: "M8 3h8a1 1 0 011 1v16a1 1 0 01-1 1H8a1 1 0 01-1-1V4a1 1 0 011-1zM11 18h2",
  more: "M5 12h.01M12 12h.01M19 12h.01",
} as const;

export type IconName = keyof typeof paths;

/** A drawing without a meaning of its own: the button around it has the label. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
