package dev.polis.rpc;

/**
 * Limits connections. One is a stranger's until its handshake has shown a certificate of the
 * cluster, then a member's.
 *
 * @param members connections of members at one port, of which one member may have a third; further
 *     ones count as strangers' connections
 * @param strangers connections of strangers at all ports of the process; when they are used up, the
 *     source with the most connections loses its oldest one to a new connection
 * @param perSource the same for one source: an IPv4 address, or the first 64 bits of an IPv6
 *     address, which is what one subscriber gets
 * @param perSecond new connections of strangers that one source may open in a second, in the long
 *     run; a burst of two seconds' worth is allowed, and the node closes further ones unread
 */
public record ConnectionLimits(int members, int strangers, int perSource, int perSecond) {
  /**
   * The default limits. 768 connections of members are several per node in the largest expected
   * cluster, and take some 40 MiB. Two cores make fewer than 256 handshakes in a tenth of a second;
   * 256 take some 16 MiB. 64 from one source let a rack behind one address start at once. A
   * handshake costs the node about a millisecond: 32 in a second leave 31 of 32 parts of a core to
   * others, and members' are not counted.
   */
  public static final ConnectionLimits DEFAULT = new ConnectionLimits(768, 256, 64, 32);

  /**
   * Returns how many connections one member may have at one port: a third of the room, so that two
   * members, or certificates that were stolen from them, leave a third to all others.
   */
  int perMember() {
    return Math.max(1, members / 3);
  }

  /** Refuses limits that let no client connect. */
  public ConnectionLimits {
    if (members < 1 || strangers < 1 || perSource < 1 || perSecond < 1) {
      throw new IllegalArgumentException(
          "limits of connections must be positive: members=%d strangers=%d perSource=%d perSecond=%d"
              .formatted(members, strangers, perSource, perSecond));
    }
  }
}
