package dev.polis.base.posix;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Sends IPv4 packets to all machines on one network interface, and receives those of one UDP port,
 * also while the interface has no address. It needs the right to use raw sockets. Its owner closes
 * it.
 *
 * <p>It never waits: a call that waits in the kernel would occupy a carrier of the virtual threads.
 */
public final class PacketSocket implements AutoCloseable {

  // From bits/socket.h, linux/if_ether.h and asm-generic/socket.h.
  private static final int AF_PACKET = 17;
  private static final int SOCK_DGRAM = 2;
  private static final int SOCK_NONBLOCK = 0x800;
  private static final int SOCK_CLOEXEC = 0x80000;
  private static final int ETH_P_IP = 0x0800;
  private static final int SOL_SOCKET = 1;
  private static final int SO_ATTACH_FILTER = 26;

  private static final int UDP = 17;
  private static final int SOCKADDR_LL = 20; // sizeof(struct sockaddr_ll)
  private static final int ETHERNET_ADDRESS = 6;

  /** The largest packet that it returns whole: that of an ordinary Ethernet has 1500 bytes. */
  private static final int ROOM = 2048;

  private static final ValueLayout.OfShort NETWORK_SHORT =
      ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

  /** One instruction of a packet filter, see linux/filter.h. */
  private record Instruction(int code, int ifTrue, int ifFalse, int operand) {}

  private final int descriptor;
  private final int link;

  private PacketSocket(int descriptor, int link) {
    this.descriptor = descriptor;
    this.link = link;
  }

  /**
   * Opens a socket.
   *
   * @param link the index of the interface
   * @param port the UDP port whose packets it receives; the kernel drops all others before they use
   *     memory of this socket
   */
  public static PacketSocket open(int link, int port) throws PosixException {
    // With protocol 0 it receives nothing until it is bound, so no packet passes before the filter.
    int type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int descriptor =
        LibC.call(
            "socket",
            List.of("AF_PACKET", "SOCK_DGRAM"),
            (state, _) -> (int) LibC.Socket.SOCKET.invokeExact(state, AF_PACKET, type, 0));
    PacketSocket socket = new PacketSocket(descriptor, link);
    try {
      socket.attach(filter(port));
      socket.bind();
      return socket;
    } catch (PosixException e) {
      socket.close();
      throw e;
    }
  }

  /** Makes the filter; offset 0 is the begin of the IP header. */
  private static List<Instruction> filter(int port) {
    return List.of(
        new Instruction(0x30, 0, 0, 9), // load the protocol
        new Instruction(0x15, 0, 6, UDP), // other than UDP: drop
        new Instruction(0x28, 0, 0, 6), // load the offset of the fragment
        new Instruction(0x45, 4, 0, 0x1fff), // not the first fragment: drop
        new Instruction(0xb1, 0, 0, 0), // index := length of the IP header
        new Instruction(0x48, 0, 0, 2), // load the destination port
        new Instruction(0x15, 0, 1, port), // other: drop
        new Instruction(0x06, 0, 0, 0xffff), // keep the whole packet
        new Instruction(0x06, 0, 0, 0)); // drop
  }

  private void attach(List<Instruction> filter) throws PosixException {
    LibC.call(
        "setsockopt",
        List.of(descriptor, "SO_ATTACH_FILTER"),
        (state, arena) -> {
          MemorySegment code = arena.allocate(8L * filter.size(), 4);
          for (int i = 0; i < filter.size(); i++) {
            Instruction one = filter.get(i);
            code.set(ValueLayout.JAVA_SHORT, 8L * i, (short) one.code());
            code.set(ValueLayout.JAVA_BYTE, 8L * i + 2, (byte) one.ifTrue());
            code.set(ValueLayout.JAVA_BYTE, 8L * i + 3, (byte) one.ifFalse());
            code.set(ValueLayout.JAVA_INT, 8L * i + 4, one.operand());
          }
          MemorySegment program = arena.allocate(16, 8); // struct sock_fprog
          program.set(ValueLayout.JAVA_SHORT, 0, (short) filter.size());
          program.set(ValueLayout.ADDRESS, 8, code);
          return (int)
              LibC.Socket.SETSOCKOPT.invokeExact(
                  state, descriptor, SOL_SOCKET, SO_ATTACH_FILTER, program, 16);
        });
  }

  private void bind() throws PosixException {
    LibC.call(
        "bind",
        List.of(descriptor, "interface " + link),
        (state, arena) ->
            (int) LibC.Socket.BIND.invokeExact(state, descriptor, address(arena), SOCKADDR_LL));
  }

  /** Makes a struct sockaddr_ll with the interface and Ethernet's address of all machines. */
  private MemorySegment address(Arena arena) {
    MemorySegment address = arena.allocate(SOCKADDR_LL, 4);
    address.set(ValueLayout.JAVA_SHORT, 0, (short) AF_PACKET);
    address.set(NETWORK_SHORT, 2, (short) ETH_P_IP);
    address.set(ValueLayout.JAVA_INT, 4, link);
    address.set(ValueLayout.JAVA_BYTE, 11, (byte) ETHERNET_ADDRESS);
    address.asSlice(12, ETHERNET_ADDRESS).fill((byte) 0xff);
    return address;
  }

  /**
   * Sends a packet to all machines on the interface.
   *
   * @param packet it, from the IP header on
   */
  public void send(byte[] packet) throws PosixException {
    LibC.call(
        "sendto",
        List.of(descriptor, "interface " + link, packet.length + " bytes"),
        (state, arena) ->
            (int)
                (long)
                    LibC.Socket.SENDTO.invokeExact(
                        state,
                        descriptor,
                        arena.allocateFrom(ValueLayout.JAVA_BYTE, packet),
                        (long) packet.length,
                        0,
                        address(arena),
                        SOCKADDR_LL));
  }

  /**
   * Returns a received packet from the IP header on, cut to 2048 bytes; empty if there is none, or
   * the interface is down.
   */
  public Optional<byte[]> receive() throws PosixException {
    byte[] packet = new byte[ROOM];
    try {
      int length =
          LibC.call(
              "recv",
              List.of(descriptor, "interface " + link),
              (state, arena) -> {
                MemorySegment room = arena.allocate(ROOM);
                int read =
                    (int)
                        (long)
                            LibC.Socket.RECV.invokeExact(state, descriptor, room, (long) ROOM, 0);
                MemorySegment.copy(room, ValueLayout.JAVA_BYTE, 0, packet, 0, Math.max(read, 0));
                return read;
              });
      return Optional.of(Arrays.copyOf(packet, length));
    } catch (PosixException e) {
      if (e.errno() == Errno.EAGAIN || e.errno() == Errno.ENETDOWN) {
        return Optional.empty();
      }
      throw e;
    }
  }

  @Override
  public void close() throws PosixException {
    LibC.call(
        "close",
        List.of(descriptor),
        (state, _) -> (int) LibC.Device.CLOSE.invokeExact(state, descriptor));
  }
}
