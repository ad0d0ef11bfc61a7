package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.pki.TlsKeys;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class NettyTlsTest {
  private final TlsKeys keys = new TlsKeys(Optional::empty);

  private static SSLEngine engine(SslContext context) {
    return context.newEngine(UnpooledByteBufAllocator.DEFAULT);
  }

  @Test
  @DisplayName("A client makes one key pair for a connection, not one on each curve")
  void clientOffersOneCurve() {
    X509ExtendedTrustManager trust = RpcTrust.anybody().manager();

    SSLEngine client = engine(NettyTls.client(keys, trust));

    assertArrayEquals(new String[] {"x25519"}, client.getSSLParameters().getNamedGroups());
    assertEquals(List.of("TLSv1.3"), List.of(client.getEnabledProtocols()));
    assertTrue(client.getUseClientMode());
  }

  @Test
  @DisplayName("A server accepts clients that only support the curves of NIST")
  void serverTakesOtherCurves() {
    SSLEngine server = engine(NettyTls.server(keys));

    List<String> groups = Arrays.asList(server.getSSLParameters().getNamedGroups());
    assertTrue(groups.contains("secp256r1"), groups.toString());
    assertTrue(groups.contains("x25519"), groups.toString());
    assertEquals(List.of("TLSv1.3"), List.of(server.getEnabledProtocols()));
    assertTrue(server.getWantClientAuth(), "clients are asked for a certificate");
    assertFalse(server.getNeedClientAuth(), "and need not send one");
  }
}
