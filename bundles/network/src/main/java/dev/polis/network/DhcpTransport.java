package dev.polis.network;

import dev.polis.base.posix.PacketSocket;
import dev.polis.network.DhcpClient.Channel;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/**
 * Exchanges the messages of a DHCP client on one interface. A packet socket serves while the
 * interface has no address: with reverse path filtering, which many systems switch on, the kernel
 * delivers nothing to an ordinary socket then. Used by one thread, which closes it.
 */
final class DhcpTransport implements AutoCloseable {

  private static final int SERVER_PORT = 67;
  private static final int CLIENT_PORT = 68;
  private static final int IP_HEADER = 20;
  private static final int UDP_HEADER = 8;
  private static final int UDP = 17;
  private static final int TIME_TO_LIVE = 64;

  /** The largest answer that it reads; a longer one is cut, and then dropped as malformed. */
  private static final int ROOM = 2048;

  /** Adds little to the second that a server takes, and costs a node without a lease nothing. */
  private static final Duration POLL = Duration.ofMillis(50);

  /** The answers that it takes in one poll, so that a flood of them occupies no processor. */
  private static final int BURST = 64;

  private final int link;
  private Channel channel = new Channel.Closed();
  private PacketSocket packets; // null unless the channel is Broadcast
  private DatagramSocket datagrams; // null unless the channel is Unicast
  private int taken;

  /**
   * @param link the index of the interface
   */
  DhcpTransport(int link) {
    this.link = link;
  }

  /** Opens a channel, and closes the former one; does nothing if it is open. */
  void use(Channel wanted) throws IOException {
    if (wanted.equals(channel)) {
      return;
    }
    close();
    switch (wanted) {
      case Channel.Closed() -> {}
      case Channel.Broadcast() -> packets = PacketSocket.open(link, CLIENT_PORT);
      case Channel.Unicast(Inet4Address own, Inet4Address server) -> {
        datagrams = new DatagramSocket(new InetSocketAddress(own, CLIENT_PORT));
        // From now on the kernel drops what another sender sends.
        datagrams.connect(new InetSocketAddress(server, SERVER_PORT));
      }
    }
    channel = wanted;
  }

  void send(byte[] message) throws IOException {
    if (packets != null) {
      packets.send(wrapped(message));
    }
    if (datagrams != null) {
      datagrams.send(new DatagramPacket(message, message.length));
    }
  }

  /** Waits for an answer; returns empty if none came in time. */
  Optional<byte[]> receive(Duration atMost) throws IOException, InterruptedException {
    if (datagrams != null) {
      return receive(datagrams, atMost);
    }
    long end = System.nanoTime() + atMost.toNanos();
    while (true) {
      Optional<byte[]> packet =
          packets != null && taken < BURST ? packets.receive() : Optional.empty();
      if (packet.isPresent()) {
        taken++;
        return packet.flatMap(DhcpTransport::unwrapped);
      }
      long left = end - System.nanoTime();
      if (left <= 0) {
        return Optional.empty();
      }
      Thread.sleep(Duration.ofNanos(packets != null ? Math.min(left, POLL.toNanos()) : left));
      taken = 0;
    }
  }

  private static Optional<byte[]> receive(DatagramSocket socket, Duration atMost)
      throws IOException {
    DatagramPacket packet = new DatagramPacket(new byte[ROOM], ROOM);
    socket.setSoTimeout((int) Math.max(1, atMost.toMillis())); // 0 would have no end
    try {
      socket.receive(packet);
      return Optional.of(Arrays.copyOf(packet.getData(), packet.getLength()));
    } catch (SocketTimeoutException | PortUnreachableException none) {
      return Optional.empty();
    }
  }

  /** Puts a message into a packet from 0.0.0.0 to all machines. */
  static byte[] wrapped(byte[] message) {
    ByteBuffer packet = ByteBuffer.allocate(IP_HEADER + UDP_HEADER + message.length);
    packet.put((byte) 0x45).put((byte) 0); // version 4, five words; ordinary service
    packet.putShort((short) packet.capacity()).putInt(0); // no fragment
    packet.put((byte) TIME_TO_LIVE).put((byte) UDP);
    packet.putShort((short) 0).putInt(0).putInt(-1); // the checksum; 0.0.0.0; 255.255.255.255
    packet.putShort((short) CLIENT_PORT).putShort((short) SERVER_PORT);
    // RFC 768: without a checksum. The one of Ethernet covers the packet.
    packet.putShort((short) (UDP_HEADER + message.length)).putShort((short) 0).put(message);
    packet.putShort(10, checksum(packet));
    return packet.array();
  }

  private static short checksum(ByteBuffer packet) {
    int sum = 0;
    for (int at = 0; at < IP_HEADER; at += Short.BYTES) {
      sum += Short.toUnsignedInt(packet.getShort(at));
    }
    return (short) ~((sum & 0xffff) + (sum >>> Short.SIZE));
  }

  /**
   * Returns the message in a packet; empty if the packet is malformed or not from a server. It does
   * not check UDP's checksum: in a packet from this machine the kernel leaves it to the card.
   */
  static Optional<byte[]> unwrapped(byte[] packet) {
    int header = packet.length > 0 ? (packet[0] & 0x0f) * Integer.BYTES : 0;
    if (header < IP_HEADER || packet[0] >>> 4 != 4 || packet.length < header + UDP_HEADER) {
      return Optional.empty();
    }
    ByteBuffer buffer = ByteBuffer.wrap(packet);
    int length = Short.toUnsignedInt(buffer.getShort(header + 4));
    boolean server =
        packet[9] == UDP
            && buffer.getShort(header) == SERVER_PORT
            && buffer.getShort(header + Short.BYTES) == CLIENT_PORT;
    return server && length >= UDP_HEADER && header + length <= packet.length
        ? Optional.of(Arrays.copyOfRange(packet, header + UDP_HEADER, header + length))
        : Optional.empty();
  }

  @Override
  public void close() throws IOException {
    channel = new Channel.Closed();
    if (datagrams != null) {
      datagrams.close();
      datagrams = null;
    }
    if (packets != null) {
      PacketSocket open = packets;
      packets = null;
      open.close();
    }
  }
}
