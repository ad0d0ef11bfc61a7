package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.DescriptorShortage;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.wire.debug.DebugGrpc;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.KeyPair;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Takes all free file descriptors away from the process's listeners. */
@Tag("alone")
class DescriptorShortageTest {

  @Test
  @DisplayName("a listener of RPC pauses without descriptors and serves within 1 s of their return")
  void rpc() throws Exception {
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(RpcHost.DEBUG, RpcFixture.reaching(DebugGrpc.getServiceDescriptor()));
      DescriptorShortage.checkListener(
          fixture.host.address(RpcHost.DEBUG),
          // A server of HTTP/2 sends first.
          connection -> assertTrue(connection.getInputStream().read() >= 0, "it was closed"));
    }
  }

  @Test
  @DisplayName("a TLS listener pauses without descriptors and serves within 1 s of their return")
  void tls() throws Exception {
    CertificateAuthority ca = CertificateAuthority.create("Test cluster");
    KeyPair pair = Ed25519.generate();
    TlsIdentity node = TlsIdentity.of(pair.getPrivate(), ca.issueNode(pair.getPublic()));
    SSLContext context =
        TlsContexts.context(
            TlsKeys.fixed(node), TlsTrust.member(TlsTrust.Source.of(ca.certificate())));
    try (TlsListener listener =
        TlsListener.open(
            "dev.polis.test",
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            context,
            TlsContexts.serverParameters(),
            connection -> {
              connection.output().write(connection.input().read());
              connection.output().flush();
              return new TlsHandler.Next.Keep();
            },
            LogTree.create().log("test"))) {
      DescriptorShortage.checkListener(listener.address(), connection -> echo(context, connection));
    }
  }

  private static void echo(SSLContext context, Socket connection) throws Exception {
    SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(connection, "localhost", connection.getPort(), false);
    socket.getOutputStream().write(7);
    assertEquals(7, socket.getInputStream().read());
  }
}
