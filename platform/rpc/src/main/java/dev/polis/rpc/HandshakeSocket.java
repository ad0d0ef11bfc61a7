package dev.polis.rpc;

import java.io.ByteArrayOutputStream;
import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;

/**
 * Passes the bytes of a TLS handshake to a connected socket. Written bytes wait until the next
 * read, so that each step of the handshake leaves in one piece.
 *
 * <p>A write that fails does not end the handshake; the next read does. A client that refuses the
 * server's certificate sends the reason and closes, while the server still writes: its reason is in
 * the receive buffer then, and a failed write would hide it.
 *
 * <p>It passes on what Java's TLS asks of the socket below it, and no more.
 */
final class HandshakeSocket extends Socket {
  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;
  private final ByteArrayOutputStream waiting = new ByteArrayOutputStream();
  private volatile boolean complete;

  HandshakeSocket(Socket socket) throws IOException {
    this.socket = socket;
    this.in = new Input(socket.getInputStream());
    this.out = new Output(socket.getOutputStream());
  }

  /** Sends the waiting bytes; later writes go out at once. */
  void complete() throws IOException {
    complete = true;
    sendWaiting();
  }

  private void sendWaiting() throws IOException {
    if (waiting.size() > 0) {
      byte[] bytes = waiting.toByteArray();
      waiting.reset();
      socket.getOutputStream().write(bytes);
    }
  }

  /** Sends the waiting bytes, then reads from the socket. */
  private final class Input extends FilterInputStream {
    Input(InputStream socket) {
      super(socket);
    }

    @Override
    public int read() throws IOException {
      beforeRead();
      return super.read();
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      beforeRead();
      return super.read(buffer, offset, length);
    }

    private void beforeRead() {
      if (complete) {
        return;
      }
      try {
        sendWaiting();
      } catch (IOException gone) {
        // The next read finds the peer's last bytes, or that the peer has gone.
      }
    }
  }

  /** Holds the written bytes during the handshake. */
  private final class Output extends FilterOutputStream {
    Output(OutputStream socket) {
      super(socket);
    }

    @Override
    public void write(int single) throws IOException {
      write(new byte[] {(byte) single}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (complete) {
        super.out.write(bytes, offset, length);
      } else {
        waiting.write(bytes, offset, length);
      }
    }
  }

  @Override
  public InputStream getInputStream() {
    return in;
  }

  @Override
  public OutputStream getOutputStream() {
    return out;
  }

  /** Sends an alert with the reason, and closes the socket. */
  @Override
  public void close() throws IOException {
    try {
      if (!socket.isClosed()) {
        sendWaiting();
      }
    } catch (IOException gone) {
      // The peer does not get the reason; this side has logged it.
    } finally {
      socket.close();
    }
  }

  @Override
  public boolean isConnected() {
    return socket.isConnected();
  }

  @Override
  public boolean isClosed() {
    return socket.isClosed();
  }

  @Override
  public boolean isInputShutdown() {
    return socket.isInputShutdown();
  }

  @Override
  public boolean isOutputShutdown() {
    return socket.isOutputShutdown();
  }

  @Override
  public void shutdownInput() throws IOException {
    socket.shutdownInput();
  }

  @Override
  public void shutdownOutput() throws IOException {
    socket.shutdownOutput();
  }

  @Override
  public InetAddress getInetAddress() {
    return socket.getInetAddress();
  }

  @Override
  public int getPort() {
    return socket.getPort();
  }

  @Override
  public int getSoTimeout() throws SocketException {
    return socket.getSoTimeout();
  }

  @Override
  public void setSoTimeout(int timeout) throws SocketException {
    socket.setSoTimeout(timeout);
  }

  @Override
  public int getSoLinger() throws SocketException {
    return socket.getSoLinger();
  }
}
