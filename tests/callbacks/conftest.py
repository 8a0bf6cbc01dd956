from tests.providers.fixtures import provider_server as provider_server
