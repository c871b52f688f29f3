import os

os.environ.update(FERRY_DATABASE_URL="postgresql://test", FERRY_GATEWAY_URL="http://gateway.test", FERRY_SECRET="test")
