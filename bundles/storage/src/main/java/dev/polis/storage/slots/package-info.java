/**
 * Updates the system of a machine that an image of Polis has booted.
 *
 * <pre>
 *   polisctl node update FILE ─▶ SystemEndpoint ─▶ Slots ─▶ the partition of the other slot
 *                                                    ├────▶ its boot file on the ESP, by the name that the boot loader counts
 *                                                    └────▶ Sealer.alsoFor: BootFile, MeasuredBoot (the PCRs of the next boot)
 *
 *   EFI/Linux/polis-00000007-a.efi       stays          the loader boots the highest number first
 *   EFI/Linux/polis-00000008-b+3.efi     three tries    the loader counts down in the name before it starts the file
 *   EFI/Linux/polis-00000008-b+0-3.efi   given up       the loader boots it last
 * </pre>
 *
 * <p>The boot loader is systemd-boot, and it alone decides. The node writes a boot file under its
 * counted name last, when all else is on the disk; the machine's script {@code gate} takes the
 * count away once the node is HOME. A loss of power before the first leaves the former system, and
 * between the two costs one of the tries.
 *
 * <p>Not promised: a hang of the kernel ends no try without a person who presses the button; the
 * boot loader itself is never replaced; state that a newer version has written in a new format may
 * be refused by the former one.
 */
package dev.polis.storage.slots;
