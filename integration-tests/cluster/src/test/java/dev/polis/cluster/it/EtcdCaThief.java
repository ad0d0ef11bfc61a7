package dev.polis.cluster.it;

import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.InstantSource;
import java.util.List;
import javax.net.ssl.SSLSocket;

/** Makes certificates with the key of etcd's CA, as a thief of a disk does. */
record EtcdCaThief(CertificateAuthority stolen) {

  static final int CLIENT_PORT = 7833;
  static final int PEER_PORT = 7834;

  static EtcdCaThief of(TestNode node) throws IOException {
    Path pki = node.state().resolve("data/etcd/pki");
    return new EtcdCaThief(
        new CertificateAuthority(
            Pem.privateKey(Files.readString(pki.resolve("ca-key.pem"))),
            Pem.certificate(Files.readString(pki.resolve("ca.pem"))),
            InstantSource.system()));
  }

  /** Returns whether a port answers a request; a refused certificate ends the connection. */
  boolean opens(TestNode node, int port) {
    KeyPair pair = Ed25519.generate();
    TlsIdentity identity =
        TlsIdentity.of(
            pair.getPrivate(),
            stolen.issue(
                port == PEER_PORT
                    ? CertificateTemplate.peer(
                        "thief",
                        List.of("localhost"),
                        List.of(InetAddress.ofLiteral(node.address())))
                    : CertificateTemplate.client("root"),
                pair.getPublic()));
    try (SSLSocket socket =
        (SSLSocket)
            TlsContexts.context(TlsKeys.fixed(identity), TlsTrust.anyKey())
                .getSocketFactory()
                .createSocket(node.address(), port)) {
      // The begin of HTTP/2 with empty settings, or a request by HTTP/1.1: each has an answer.
      socket
          .getOutputStream()
          .write(
              (port == PEER_PORT
                      ? "GET /members HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n"
                      : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                  .getBytes(StandardCharsets.ISO_8859_1));
      return socket.getInputStream().read() >= 0;
    } catch (IOException refused) {
      return false;
    }
  }
}
