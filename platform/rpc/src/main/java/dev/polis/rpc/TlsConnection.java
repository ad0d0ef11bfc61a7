package dev.polis.rpc;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;

/**
 * Carries bytes over TLS between this process and a peer. One thread reads and one writes; {@link
 * #abort} may be called by any.
 */
public final class TlsConnection implements AutoCloseable {
  private static final int BUFFER = 16 * 1024;

  /**
   * The silence before the first probe; three probes later, after a minute, a vanished peer is
   * noticed.
   */
  private static final int KEEPALIVE_IDLE_SECONDS = 30;

  private static final int KEEPALIVE_INTERVAL_SECONDS = 10;
  private static final int KEEPALIVE_PROBES = 3;

  /** Means "no limit". */
  private static final long NEVER = Long.MAX_VALUE;

  private final SocketChannel channel;
  private final Socket raw;
  private final InetSocketAddress peer;
  private SSLSocket tls; // null before the handshake
  private InputStream in; // null before the handshake
  private OutputStream out; // null before the handshake
  private boolean finished;
  private volatile boolean ofMember;

  /** The time at which {@link #overdue} becomes true, in nanoseconds since {@code began}. */
  private volatile long limit = NEVER;

  private final long began = System.nanoTime();

  private TlsConnection(SocketChannel channel, InetSocketAddress peer) throws IOException {
    this.channel = channel;
    this.raw = channel.socket();
    this.peer = peer;
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS);
    channel.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, KEEPALIVE_INTERVAL_SECONDS);
    channel.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, KEEPALIVE_PROBES);
  }

  /** Takes an accepted connection before its first byte is read. */
  static TlsConnection accepted(SocketChannel channel) throws IOException {
    return new TlsConnection(channel, (InetSocketAddress) channel.getRemoteAddress());
  }

  /**
   * Opens a connection to a server.
   *
   * @param parameters the protocols and cipher suites
   * @param within the longest time of the connecting, and of the handshake
   */
  public static TlsConnection dial(
      InetSocketAddress server, SSLContext context, SSLParameters parameters, Duration within)
      throws IOException {
    SocketChannel channel = SocketChannel.open();
    try {
      TlsConnection connection = new TlsConnection(channel, server);
      connection.raw.connect(server, (int) within.toMillis());
      connection.raw.setSoTimeout((int) within.toMillis());
      SSLSocket socket =
          (SSLSocket)
              context
                  .getSocketFactory()
                  .createSocket(
                      connection.raw, server.getAddress().getHostAddress(), server.getPort(), true);
      socket.setSSLParameters(parameters);
      connection.secure(socket);
      connection.raw.setSoTimeout(0);
      return connection;
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  /**
   * Makes the handshake of an accepted connection.
   *
   * @param first the first byte of the peer
   */
  void accept(int first, SSLContext context, SSLParameters parameters) throws IOException {
    HandshakeSocket handshake = new HandshakeSocket(raw);
    SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(handshake, new ByteArrayInputStream(new byte[] {(byte) first}), true);
    socket.setUseClientMode(false);
    socket.setSSLParameters(parameters);
    secure(socket);
    handshake.complete();
  }

  private void secure(SSLSocket socket) throws IOException {
    tls = socket;
    socket.startHandshake();
    in = new BufferedInputStream(socket.getInputStream(), BUFFER);
    out = new BufferedOutputStream(socket.getOutputStream(), BUFFER);
  }

  /**
   * Reads the first byte, before the handshake; returns a negative number if the peer leaves
   * without one.
   */
  int firstByte() throws IOException {
    return raw.getInputStream().read();
  }

  /** Waits for the first byte of a request; returns false if the peer has ended the connection. */
  boolean awaitRequest() throws IOException {
    in.mark(1);
    if (in.read() < 0) {
      return false;
    }
    in.reset();
    return true;
  }

  /** Returns the address of the peer. */
  public InetSocketAddress peer() {
    return peer;
  }

  /** Returns the certificate that the peer has proved to own; empty if it showed none. */
  public Optional<X509Certificate> certificate() {
    try {
      Certificate[] chain = tls.getSession().getPeerCertificates();
      return Optional.of((X509Certificate) chain[0]);
    } catch (SSLPeerUnverifiedException none) {
      return Optional.empty();
    }
  }

  /** Notes whether the peer is a member of the cluster. */
  void setOfMember(boolean member) {
    ofMember = member;
  }

  /** Returns whether the peer was a member of the cluster at the last check. */
  boolean ofMember() {
    return ofMember;
  }

  /** Returns the TLS session, once the handshake is done. */
  SSLSession session() {
    return tls.getSession();
  }

  /** Returns the address at which the connection was accepted or made. */
  InetSocketAddress local() {
    return (InetSocketAddress) raw.getLocalSocketAddress();
  }

  /** Returns the stream of the peer's bytes; it supports {@link InputStream#mark}. */
  public InputStream input() {
    return in;
  }

  /** Returns the stream to the peer; bytes leave when it is flushed. */
  public OutputStream output() {
    return out;
  }

  /**
   * Limits the time of the next steps together, after which the port aborts the connection. It
   * applies to connections of a port; {@link #dial dialled} ones have {@link #readWithin}.
   */
  public void limit(Duration within) {
    limit = System.nanoTime() - began + within.toNanos();
  }

  /** Lifts the limit. */
  public void unlimited() {
    limit = NEVER;
  }

  /** Returns whether a limit has passed. */
  boolean overdue() {
    return System.nanoTime() - began > limit;
  }

  /** Limits the time in which one read waits for bytes; zero means no limit. */
  public void readWithin(Duration within) throws IOException {
    raw.setSoTimeout((int) within.toMillis());
  }

  /**
   * Returns whether an idle connection is still usable: the peer has neither ended it nor sent
   * unrequested bytes.
   */
  public boolean usable() {
    try {
      if (in.available() > 0) {
        return false;
      }
      channel.configureBlocking(false);
      try {
        return channel.read(ByteBuffer.allocate(1)) == 0;
      } finally {
        channel.configureBlocking(true);
      }
    } catch (IOException broken) {
      return false;
    }
  }

  /** Sends the written bytes, and tells the peer that no more follow; reading stays possible. */
  public void finishOutput() throws IOException {
    if (!finished) {
      finished = true;
      out.flush();
      tls.shutdownOutput();
    }
  }

  /** Reads until the peer ends the connection, and drops what it sends. */
  void drain() throws IOException {
    byte[] buffer = new byte[BUFFER];
    int read = 0;
    while (read >= 0) {
      read = in.read(buffer);
    }
  }

  /**
   * Passes the bytes of one peer to another until the first ends.
   *
   * @throws IOException if either connection breaks
   */
  static void copy(TlsConnection from, TlsConnection to) throws IOException {
    byte[] buffer = new byte[BUFFER];
    for (int read = from.in.read(buffer); read >= 0; read = from.in.read(buffer)) {
      to.out.write(buffer, 0, read);
      if (from.in.available() == 0) {
        to.out.flush();
      }
    }
    to.finishOutput();
  }

  /**
   * Ends the connection at once. It closes the socket below TLS, since closing TLS would wait for a
   * peer that does not read.
   */
  public void abort() {
    try {
      channel.close();
    } catch (IOException closed) {
      // After a failed close, too, the file descriptor is free.
    }
  }

  @Override
  public void close() {
    abort();
  }
}
